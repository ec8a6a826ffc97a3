/*
 * Runs a kernel that needs a workspace, and gives the workspace back.
 *
 * buggy.c frees the workspace right after the launch, while the kernel is queued.
 * fixed.c waits for the stream first.
 */
#include "../zoo.h"
#include "softacl/softacl.h"

#define WORDS 1024
#define SIZE (WORDS * sizeof(uint32_t))

static void *workspace, *result;

/* Doubles the result, with the workspace in between. */
static int twice(void *unused)
{
    void *from, *between;
    (void)unused;
    if (softaclHostView(result, SIZE, &from) != ACL_SUCCESS) {
        return 507035;
    }
    /* The workspace may be gone; a card would use whatever is there. */
    if (softaclHostView(workspace, SIZE, &between) != ACL_SUCCESS) {
        return 0;
    }
    memcpy(between, from, SIZE);
    for (size_t i = 0; i < WORDS; i++) {
        ((uint32_t *)from)[i] = 2 * ((uint32_t *)between)[i];
    }
    return 0;
}

int main(void)
{
    void *host;
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost(&host, SIZE));
    OK(aclrtMalloc(&result, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc(&workspace, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    fill(host, WORDS, 4);

    OK(aclrtMemcpyAsync(result, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    softaclRange ranges[] = {{result, SIZE, SOFTACL_READ | SOFTACL_WRITE}, {workspace, SIZE, SOFTACL_WRITE}};
    OK(softaclLaunchKernel(stream, twice, NULL, NULL, ranges, 2, "twice"));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtFree(workspace));
    size_t wrong = wrong_on_device(result, WORDS, 8);

    OK(aclrtFree(result));
    OK(aclrtFreeHost(host));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, WORDS, "words");
}
