// Adds two vectors with an operator of aclnn, with the includes of a project that finds all headers by directory.
// Not an example: only a program that the layout with the operator interface builds.
#include <acl/acl.h>
#include <acl_meta.h>
#include <aclnn/aclnn_base.h>
#include <aclnnop/aclnn_add.h>

#include <cstdio>
#include <cstdlib>

static void check(int code, const char *call)
{
    if (code != 0) {
        std::fprintf(stderr, "%s: %d %s\n", call, code, aclGetRecentErrMsg());
        std::exit(1);
    }
}
#define CHECK(call) check((call), #call)

int main()
{
    const int64_t count = 4;
    const float first[count] = {1, 2, 3, 4};
    float sum[count] = {};
    CHECK(aclInit(nullptr));
    CHECK(aclrtSetDevice(0));
    aclrtStream stream;
    CHECK(aclrtCreateStream(&stream));
    void *memory;
    CHECK(aclrtMalloc(&memory, sizeof sum, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMemcpy(memory, sizeof first, first, sizeof first, ACL_MEMCPY_HOST_TO_DEVICE));
    aclTensor *tensor = aclCreateTensor(&count, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &count, 1, memory);
    float one = 1;
    aclScalar *factor = aclCreateScalar(&one, ACL_FLOAT);
    uint64_t size = 0;
    aclOpExecutor *executor = nullptr;
    CHECK(aclnnInplaceAddGetWorkspaceSize(tensor, tensor, factor, &size, &executor));
    CHECK(aclnnInplaceAdd(nullptr, size, executor, stream));
    CHECK(aclrtSynchronizeStream(stream));
    CHECK(aclrtMemcpy(sum, sizeof sum, memory, sizeof sum, ACL_MEMCPY_DEVICE_TO_HOST));
    for (int64_t at = 0; at < count; at++) {
        CHECK(sum[at] == 2 * first[at] ? 0 : 1);
    }
    CHECK(aclDestroyScalar(factor));
    CHECK(aclDestroyTensor(tensor));
    CHECK(aclrtFree(memory));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    std::printf("sums of %d numbers on %s\n", static_cast<int>(count), aclrtGetSocName());
    return 0;
}
