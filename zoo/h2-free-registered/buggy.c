/* Uploads weights from a registered heap buffer.
 * buggy.c frees the buffer while the upload may still be queued.
 * fixed.c waits for the upload and unregisters the buffer first. A pattern of loaders. */
#include "../zoo.h"

#define WORDS 65536
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    void *device, *view;
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMalloc(&device, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(device, SIZE, 0, SIZE));
    void *buffer = aligned_alloc(4096, SIZE);
    if (buffer == NULL) {
        return 1;
    }
    fill(buffer, WORDS, 42);
    OK(aclrtHostRegister(buffer, SIZE, ACL_HOST_REGISTER_MAPPED, &view));
    void *volatile registered = buffer; /* hides from gcc that the memory is gone */

    OK(aclrtMemcpyAsync(device, SIZE, buffer, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    /* Wrong: the device may still read the buffer. */
    free(buffer);
    size_t failed = aclrtSynchronizeStream(stream) != ACL_SUCCESS;

    size_t wrong = failed ? WORDS : wrong_on_device(device, WORDS, 42);
    OK(aclrtHostUnregister(registered));
    OK(aclrtFree(device));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, WORDS, "words");
}
