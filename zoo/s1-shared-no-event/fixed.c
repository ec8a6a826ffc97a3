/*
 * A producer copies a block into memory that it shares with a consumer, and records a shared event
 * behind the copy. Its host sends the consumer a byte, because the block is on its way, without waiting for it.
 *
 * buggy.c reads the block in the consumer without waiting for the event.
 * fixed.c lets the stream of the consumer wait for it.
 */
#include "../zoo.h"

#include <sys/wait.h>
#include <unistd.h>

#define WORDS 16384
#define SIZE (WORDS * 4)

/* Sends a byte string to the other process, or receives one. */
static void put(int file, const void *bytes, size_t size)
{
    if (write(file, bytes, size) != (ssize_t)size) {
        exit(1);
    }
}

static void get(int file, void *bytes, size_t size)
{
    if (read(file, bytes, size) != (ssize_t)size) {
        exit(1);
    }
}

struct offer {
    char key[65];
    aclrtIpcEventHandle loaded;
};

static int consumer(int from, int to)
{
    struct offer offer;
    void *shared, *result;
    aclrtEvent loaded;
    aclrtStream stream;
    get(from, &offer, sizeof offer);
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtIpcMemImportByKey(&shared, offer.key, 0));
    OK(aclrtIpcOpenEventHandle(offer.loaded, &loaded));
    OK(aclrtMallocHost(&result, SIZE));
    put(to, "o", 1);
    char word;
    get(from, &word, 1);
    OK(aclrtStreamWaitEvent(stream, loaded));
    OK(aclrtMemcpyAsync(result, SIZE, shared, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    put(to, "q", 1);
    OK(aclrtSynchronizeStream(stream));
    size_t wrong = wrong_words(result, WORDS, 7);
    put(to, &wrong, sizeof wrong);
    OK(aclrtFreeHost(result));
    OK(aclrtDestroyEvent(loaded));
    OK(aclrtIpcMemClose(offer.key));
    put(to, "c", 1);
    OK(aclrtDestroyStream(stream));
    end();
    return 0;
}

int main(void)
{
    int down[2], up[2], status;
    char word;
    struct offer offer;
    void *block, *source;
    size_t wrong;
    aclrtEvent loaded;
    aclrtStream stream;
    if (pipe(down) != 0 || pipe(up) != 0) {
        return 1;
    }
    pid_t child = fork();
    if (child == 0) {
        return consumer(down[0], up[1]);
    }
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateEventExWithFlag(&loaded, ACL_EVENT_IPC));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST_P2P));
    OK(aclrtMemset(block, SIZE, 0, SIZE));
    OK(aclrtMallocHost(&source, SIZE));
    fill(source, WORDS, 7);
    OK(aclrtIpcMemGetExportKey(block, SIZE, offer.key, sizeof offer.key,
                               ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    OK(aclrtIpcGetEventHandle(loaded, &offer.loaded));
    put(down[1], &offer, sizeof offer);
    get(up[0], &word, 1);
    OK(aclrtMemcpyAsync(block, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtRecordEvent(loaded, stream));
    put(down[1], "l", 1);
    get(up[0], &word, 1);
    OK(aclrtSynchronizeStream(stream));
    get(up[0], &wrong, sizeof wrong);
    get(up[0], &word, 1);
    OK(aclrtFree(block));
    OK(aclrtFreeHost(source));
    OK(aclrtDestroyEvent(loaded));
    OK(aclrtDestroyStream(stream));
    end();
    waitpid(child, &status, 0);
    return verdict(status != 0 ? 1 : wrong, WORDS, "words");
}
