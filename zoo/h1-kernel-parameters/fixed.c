/*
 * Scales a batch by parameters in pinned memory, which the kernel reads itself, as with mapped host memory.
 *
 * buggy.c refills the parameters for the second batch while the kernel of the first may still be queued.
 * fixed.c waits for each kernel.
 */
#include "../zoo.h"
#include "softacl/softacl.h"

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))

static void *parameters, *batch[2];

/* Writes the parameter to every word of a batch. */
static int apply(void *argument)
{
    void *view, *value;
    if (softaclHostView(*(void **)argument, SIZE, &view) != ACL_SUCCESS ||
        softaclHostView(parameters, sizeof(uint32_t), &value) != ACL_SUCCESS) {
        return 507035;
    }
    fill(view, WORDS, *(uint32_t *)value);
    return 0;
}

int main(void)
{
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost(&parameters, sizeof(uint32_t)));
    OK(aclrtMalloc(&batch[0], SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc(&batch[1], SIZE, ACL_MEM_MALLOC_HUGE_FIRST));

    for (int b = 0; b < 2; b++) {
        fill(parameters, 1, 100 + b);
        softaclRange ranges[] = {{parameters, sizeof(uint32_t), SOFTACL_READ}, {batch[b], SIZE, SOFTACL_WRITE}};
        OK(softaclLaunchKernel(stream, apply, &batch[b], NULL, ranges, 2, "apply"));
        OK(aclrtSynchronizeStream(stream));
    }
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = wrong_on_device(batch[0], WORDS, 100) + wrong_on_device(batch[1], WORDS, 101);
    OK(aclrtFree(batch[0]));
    OK(aclrtFree(batch[1]));
    OK(aclrtFreeHost(parameters));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, 2 * WORDS, "words");
}
