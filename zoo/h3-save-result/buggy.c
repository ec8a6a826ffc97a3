/*
 * Downloads a result and writes it to a file.
 *
 * buggy.c writes the file before the download has finished. No statement of the program reads the
 * buffer; the operating system does, in pwrite().
 * fixed.c waits for the download first.
 */
#include <unistd.h>

#include "../zoo.h"

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    static uint32_t saved[WORDS];
    uint32_t *result;
    void *device;
    aclrtStream stream;
    FILE *file = tmpfile();
    if (file == NULL) {
        return 1;
    }
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost((void **)&result, SIZE));
    OK(aclrtMalloc(&device, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(device, SIZE, 7, SIZE));
    fill(result, WORDS, 0);

    OK(aclrtMemcpyAsync(result, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    if (pwrite(fileno(file), result, SIZE, 0) != SIZE) {
        return 1;
    }
    OK(aclrtSynchronizeStream(stream));

    if (pread(fileno(file), saved, SIZE, 0) != SIZE) {
        return 1;
    }
    size_t wrong = wrong_words(saved, WORDS, 0x07070707);
    OK(aclrtFree(device));
    OK(aclrtFreeHost(result));
    OK(aclrtDestroyStream(stream));
    fclose(file);
    end();
    return verdict(wrong, WORDS, "words");
}
