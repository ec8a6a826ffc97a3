/*
 * A producer hands blocks to a consumer through one shared buffer, which it fills with blocking
 * copies. The consumer reports when it has taken a block, and the producer then writes the next one.
 *
 * buggy.c reports that as soon as the consumer has queued its copy.
 * fixed.c reports it when the copy has ended.
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

static int consumer(int from, int to)
{
    char key[65], word;
    void *shared, *result;
    aclrtStream stream;
    size_t wrong;
    get(from, key, sizeof key);
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtIpcMemImportByKey(&shared, key, 0));
    OK(aclrtMallocHost(&result, SIZE));
    put(to, "o", 1);
    get(from, &word, 1);
    OK(aclrtMemcpyAsync(result, SIZE, shared, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    put(to, "t", 1);
    get(from, &word, 1);
    OK(aclrtSynchronizeStream(stream));
    wrong = wrong_words(result, WORDS, 1);
    put(to, &wrong, sizeof wrong);
    OK(aclrtFreeHost(result));
    OK(aclrtIpcMemClose(key));
    put(to, "c", 1);
    OK(aclrtDestroyStream(stream));
    end();
    return 0;
}

int main(void)
{
    int down[2], up[2], status;
    char key[65], word;
    void *block, *source;
    size_t wrong;
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
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST_P2P));
    OK(aclrtMallocHost(&source, SIZE));
    OK(aclrtIpcMemGetExportKey(block, SIZE, key, sizeof key, ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    put(down[1], key, sizeof key);
    get(up[0], &word, 1);
    fill(source, WORDS, 1);
    OK(aclrtMemcpyAsync(block, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtSynchronizeStream(stream));
    put(down[1], "b", 1);
    get(up[0], &word, 1);
    fill(source, WORDS, 2);
    OK(aclrtMemcpy(block, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
    put(down[1], "n", 1);
    get(up[0], &wrong, sizeof wrong);
    get(up[0], &word, 1);
    OK(aclrtFree(block));
    OK(aclrtFreeHost(source));
    OK(aclrtDestroyStream(stream));
    end();
    waitpid(child, &status, 0);
    return verdict(status != 0 ? 1 : wrong, WORDS, "words");
}
