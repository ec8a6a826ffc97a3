/*
 * Reads weights from a file chunk by chunk into one pinned buffer and uploads each chunk.
 *
 * buggy.c reads the next chunk while the upload of the previous one may still be queued. No
 * statement of the program writes the buffer; the operating system does, in read().
 * fixed.c waits for each upload before the next read().
 */
#include <unistd.h>

#include "../zoo.h"

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))
#define CHUNKS 2

int main(void)
{
    static uint32_t chunk[WORDS];
    uint32_t *buffer;
    void *weights[CHUNKS];
    aclrtStream stream;
    FILE *file = tmpfile();
    if (file == NULL) {
        return 1;
    }
    for (int c = 0; c < CHUNKS; c++) {
        fill(chunk, WORDS, 100 + c);
        if (pwrite(fileno(file), chunk, SIZE, c * SIZE) != SIZE) {
            return 1;
        }
    }
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost((void **)&buffer, SIZE));
    for (int c = 0; c < CHUNKS; c++) {
        OK(aclrtMalloc(&weights[c], SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    }

    for (int c = 0; c < CHUNKS; c++) {
        if (read(fileno(file), buffer, SIZE) != SIZE) {
            return 1;
        }
        OK(aclrtMemcpyAsync(weights[c], SIZE, buffer, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        OK(aclrtSynchronizeStream(stream)); /* the buffer may be reused now */
    }

    size_t wrong = 0;
    for (int c = 0; c < CHUNKS; c++) {
        wrong += wrong_on_device(weights[c], WORDS, 100 + c);
        OK(aclrtFree(weights[c]));
    }
    OK(aclrtFreeHost(buffer));
    OK(aclrtDestroyStream(stream));
    fclose(file);
    end();
    return verdict(wrong, CHUNKS * WORDS, "words");
}
