/*
 * Multiplies a block by a mask with a kernel.
 *
 * buggy.c allocates the mask and does not set it: every word is whatever the memory held.
 * fixed.c sets the mask to one.
 */
#include "../zoo.h"
#include "softacl/softacl.h"

#define WORDS 1024
#define SIZE (WORDS * sizeof(uint32_t))

static void *block, *mask;

static int multiply(void *unused)
{
    void *cells, *factors;
    (void)unused;
    if (softaclHostView(block, SIZE, &cells) != ACL_SUCCESS || softaclHostView(mask, SIZE, &factors) != ACL_SUCCESS) {
        return 507035;
    }
    for (size_t i = 0; i < WORDS; i++) {
        ((uint32_t *)cells)[i] *= ((uint8_t *)factors)[i];
    }
    return 0;
}

int main(void)
{
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc(&mask, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(block, SIZE, 1, SIZE));
    OK(aclrtMemset(mask, SIZE, 1, SIZE));

    softaclRange ranges[] = {{block, SIZE, SOFTACL_READ | SOFTACL_WRITE}, {mask, SIZE, SOFTACL_READ}};
    OK(softaclLaunchKernel(stream, multiply, NULL, NULL, ranges, 2, "multiply"));
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = wrong_on_device(block, WORDS, 0x01010101);
    OK(aclrtFree(block));
    OK(aclrtFree(mask));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, WORDS, "words");
}
