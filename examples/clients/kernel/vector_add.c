/* The host program of a kernel, as it is written for a card: loads the operator binary, launches vector_add, and
 * copies the result back. Nothing in it knows softacl. */
#include <acl/acl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT 4096
#define BLOCKS 8

static void check(aclError code, const char *what)
{
    if (code != ACL_SUCCESS) {
        const char *message = aclGetRecentErrMsg();
        fprintf(stderr, "%s: %d %s\n", what, code, message == NULL ? "" : message);
        exit(1);
    }
}
#define CHECK(call) check(call, #call)

int main(int argc, char **argv)
{
    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    aclrtStream stream;
    CHECK(aclrtCreateStream(&stream));

    aclrtBinHandle binary;
    aclrtFuncHandle vector_add;
    CHECK(aclrtBinaryLoadFromFile(argc > 1 ? argv[1] : "vector_add.o", NULL, &binary));
    CHECK(aclrtBinaryGetFunction(binary, "vector_add", &vector_add));

    size_t size = COUNT * sizeof(float);
    float *host, *x, *y, *z;
    CHECK(aclrtMallocHost((void **)&host, 3 * size));
    CHECK(aclrtMalloc((void **)&x, size, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMalloc((void **)&y, size, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMalloc((void **)&z, size, ACL_MEM_MALLOC_HUGE_FIRST));
    for (int i = 0; i < COUNT; i++) {
        host[i] = (float)i;
        host[COUNT + i] = 0.5f * (float)i;
    }
    CHECK(aclrtMemcpyAsync(x, size, host, size, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    CHECK(aclrtMemcpyAsync(y, size, host + COUNT, size, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    struct {
        void *x, *y, *z;
        uint32_t count;
    } arguments = {x, y, z, COUNT};
    CHECK(aclrtLaunchKernelWithHostArgs(vector_add, BLOCKS, stream, NULL, &arguments, sizeof arguments, NULL, 0));
    CHECK(aclrtMemcpyAsync(host + 2 * COUNT, size, z, size, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    CHECK(aclrtSynchronizeStream(stream));

    int wrong = 0;
    for (int i = 0; i < COUNT; i++) {
        wrong += host[2 * COUNT + i] != 1.5f * (float)i;
    }
    printf("%d of %d sums are right\n", COUNT - wrong, COUNT);

    CHECK(aclrtBinaryUnLoad(binary));
    CHECK(aclrtFree(x));
    CHECK(aclrtFree(y));
    CHECK(aclrtFree(z));
    CHECK(aclrtFreeHost(host));
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return wrong != 0;
}
