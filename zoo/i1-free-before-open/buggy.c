/*
 * A process exports a block of device memory; another process opens it after a message, and reads it.
 *
 * buggy.c frees the block before the other process has opened it.
 * fixed.c frees it when the other process has closed it.
 */
#include "../zoo.h"

#include <sys/wait.h>
#include <unistd.h>

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

#define WORDS 16384
#define SIZE (WORDS * sizeof(uint32_t))
#define KEY 65

static int reader(int from, int to)
{
    char key[KEY], word;
    void *block;
    uint32_t *words;
    size_t wrong = WORDS;
    get(from, key, KEY);
    begin();
    OK(aclrtMallocHost((void **)&words, SIZE));
    get(from, &word, 1);
    if (!logged("aclrtIpcMemImportByKey",
                aclrtIpcMemImportByKey(&block, key, ACL_RT_IPC_MEM_IMPORT_FLAG_DEFAULT))) {
        OK(aclrtMemcpy(words, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
        wrong = wrong_words(words, WORDS, 7);
        OK(aclrtIpcMemClose(key));
    }
    put(to, "c", 1);
    OK(aclrtFreeHost(words));
    end();
    return wrong != 0;
}

int main(void)
{
    int down[2], up[2], status;
    char key[KEY], word;
    void *block;
    uint32_t *words;
    if (pipe(down) != 0 || pipe(up) != 0) {
        return 1;
    }
    pid_t child = fork();
    if (child == 0) {
        exit(reader(down[0], up[1]));
    }
    begin();
    OK(aclrtMallocHost((void **)&words, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    fill(words, WORDS, 7);
    OK(aclrtMemcpy(block, SIZE, words, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtIpcMemGetExportKey(block, SIZE, key, KEY,
                               ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    put(down[1], key, KEY);
    OK(aclrtFree(block));
    put(down[1], "g", 1);
    get(up[0], &word, 1);
    OK(aclrtFreeHost(words));
    end();
    waitpid(child, &status, 0);
    return verdict(status != 0 ? WORDS : 0, WORDS, "words");
}
