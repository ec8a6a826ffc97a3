/*
 * Runs on device 1 while the configuration names device 0 as the default device. A helper thread
 * allocates a block.
 *
 * buggy.c does not set a device in the helper, which silently uses the default one: the block is on
 * the wrong card.
 * fixed.c sets device 1 in the helper.
 */
#include <pthread.h>
#include <unistd.h>

#include "../zoo.h"

#define SIZE 4096

static size_t wrong;

static void *work(void *unused)
{
    void *block;
    aclrtPtrAttributes attributes;
    (void)unused;
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtPointerGetAttributes(block, &attributes));
    wrong = attributes.location.id != 1;
    OK(aclrtFree(block));
    return NULL;
}

int main(void)
{
    const char config[] = "{\"defaultDevice\": {\"default_device\": \"0\"}}";
    char path[] = "/tmp/zoo-c3-XXXXXX";
    int file = mkstemp(path);
    pthread_t thread;
    if (file < 0 || write(file, config, sizeof config - 1) < 0 || close(file) != 0) {
        return 1;
    }
    OK(aclInit(path));
    unlink(path);
    OK(aclrtSetDevice(1));
    if (pthread_create(&thread, NULL, work, NULL) != 0) {
        return 1;
    }
    pthread_join(thread, NULL);
    OK(aclrtResetDevice(1));
    OK(aclFinalize());
    return verdict(wrong, 1, "blocks");
}
