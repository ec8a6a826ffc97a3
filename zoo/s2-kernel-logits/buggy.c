/*
 * Computes logits with a kernel and fetches them with a blocking copy.
 *
 * buggy.c copies at once: a blocking copy does not wait for any stream.
 * fixed.c waits for the stream first.
 */
#include "../zoo.h"
#include "softacl/softacl.h"

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))

static void *logits;

static int compute(void *unused)
{
    void *view;
    (void)unused;
    if (softaclHostView(logits, SIZE, &view) != ACL_SUCCESS) {
        return 507035;
    }
    fill(view, WORDS, 9);
    return 0;
}

int main(void)
{
    void *host;
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost(&host, SIZE));
    OK(aclrtMalloc(&logits, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(logits, SIZE, 0, SIZE));

    softaclRange range = {logits, SIZE, SOFTACL_WRITE};
    OK(softaclLaunchKernel(stream, compute, NULL, NULL, &range, 1, "compute"));
    OK(aclrtMemcpy(host, SIZE, logits, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = wrong_words(host, WORDS, 9);
    OK(aclrtFree(logits));
    OK(aclrtFreeHost(host));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, WORDS, "words");
}
