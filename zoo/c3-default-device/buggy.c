/* The program runs on device 1; a helper thread allocates a block for it. */
#include <pthread.h>
#include <unistd.h>

#include "../zoo.h"

#define SIZE 4096

static size_t wrong;

static void *work(void *unused)
{
    void *block;
    aclrtPtrAttributes place;
    (void)unused;
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtPointerGetAttributes(block, &place));
    wrong = place.location.id != 1;
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
