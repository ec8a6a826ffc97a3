// Which C function a call reaches. The C functions are fakes that record their names, so no library is needed.
// Included inside extern "C", as careless programs do.
extern "C" {
#include "acl/acl_rt_api.h"
}

#include <cstdio>
#include <cstring>

static const char *called = "";
static const void *first_argument = nullptr;

#define FAKE(name, parameters, first)  \
    extern "C" aclError name parameters \
    {                                  \
        called = #name;                \
        first_argument = first;        \
        return 0;                      \
    }

FAKE(aclrtSynchronizeDevice, (), nullptr)
FAKE(aclrtSynchronizeDeviceWithTimeout, (int32_t), nullptr)
FAKE(aclrtSynchronizeStream, (aclrtStream), nullptr)
FAKE(aclrtSynchronizeStreamWithTimeout, (aclrtStream, int32_t), nullptr)
FAKE(aclrtCreateStream, (aclrtStream *), nullptr)
FAKE(aclrtCreateStreamWithConfig, (aclrtStream *, uint32_t, uint32_t), nullptr)
FAKE(aclrtMalloc, (void **p, size_t, aclrtMemMallocPolicy), p)
FAKE(aclrtMallocWithCfg, (void **p, size_t, aclrtMemMallocPolicy policy, aclrtMallocConfig *),
     policy == ACL_MEM_MALLOC_HUGE_FIRST ? p : nullptr)
FAKE(aclrtMallocHost, (void **p, size_t), p)
FAKE(aclrtMallocHostWithCfg, (void **p, uint64_t, aclrtMallocConfig *), p)
FAKE(aclrtMemcpy, (void *dst, size_t, const void *, size_t, aclrtMemcpyKind), dst)
FAKE(aclrtMemcpyAsync, (void *dst, size_t, const void *, size_t, aclrtMemcpyKind, aclrtStream), dst)
FAKE(aclrtMemcpyBatch, (void **d, size_t *, void **, size_t *, size_t, aclrtMemcpyBatchAttr *, size_t *, size_t, size_t *), d)
FAKE(aclrtMemcpyBatchV2, (void **d, size_t *, void **, size_t *, size_t, aclrtMemcpyBatchAttr *, size_t *i, size_t n),
     *i == 0 && n == 1 ? d : nullptr)
FAKE(aclrtHostUnregister, (void *p), p)

static int failed = 0;

static void expect(int line, const char *name, const void *argument)
{
    if (std::strcmp(called, name) != 0 || first_argument != argument) {
        std::printf("line %d: %s was called, expected %s; first argument %p, expected %p\n", line, called, name,
                    first_argument, argument);
        failed = 1;
    }
    called = "nothing";
}

#define EXPECT(call, name, argument) \
    do {                             \
        (void)(call);                \
        expect(__LINE__, name, argument); \
    } while (0)

/** A handle class as clients have it, with a conversion to a pointer. */
struct Buffer {
    float *data;
    operator void *() const { return data; }
};

int main()
{
    float number = 0, *typed = &number;
    const float constant = 1;
    void *any = typed;
    const void *read_only = any;
    aclrtStream stream = nullptr;
    Buffer buffer = {typed};

    EXPECT(aclrtSynchronizeDevice(), "aclrtSynchronizeDevice", nullptr);
    EXPECT(aclrtSynchronizeDevice(5), "aclrtSynchronizeDeviceWithTimeout", nullptr);
    EXPECT(aclrtSynchronizeStream(nullptr), "aclrtSynchronizeStream", nullptr);
    EXPECT(aclrtSynchronizeStream(stream, 5), "aclrtSynchronizeStreamWithTimeout", nullptr);
    EXPECT(aclrtCreateStream(&stream), "aclrtCreateStream", nullptr);
    EXPECT(aclrtCreateStream(&stream, 0, 1), "aclrtCreateStreamWithConfig", nullptr);

    // void ** and a policy is C; ACL_MEM_MALLOC_HUGE_FIRST is 0 and must not become a null pointer.
    EXPECT(aclrtMalloc(&any, 8, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc", &any);
    EXPECT(aclrtMalloc(&any, 8, ACL_MEM_MALLOC_NORMAL_ONLY), "aclrtMalloc", &any);
    EXPECT(aclrtMalloc(reinterpret_cast<void **>(&typed), 8, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc", &typed);
    EXPECT(aclrtMalloc(&typed, 8), "aclrtMallocWithCfg", &typed);
    EXPECT(aclrtMalloc(&typed, 8, nullptr), "aclrtMallocWithCfg", &typed);
    EXPECT(aclrtMalloc(&any, 8), "aclrtMallocWithCfg", &any);
    EXPECT(aclrtMallocHost(&any, 8), "aclrtMallocHost", &any);
    EXPECT(aclrtMallocHost(&any, 8, nullptr), "aclrtMallocHostWithCfg", &any);
    EXPECT(aclrtMallocHost(&typed, 8), "aclrtMallocHostWithCfg", &typed);

    typed = &number;
    any = typed;
    EXPECT(aclrtMemcpy(any, 4, read_only, 4, ACL_MEMCPY_DEFAULT), "aclrtMemcpy", typed);
    EXPECT(aclrtMemcpy(typed, 4, &constant, 4, ACL_MEMCPY_DEFAULT), "aclrtMemcpy", typed);
    EXPECT(aclrtMemcpy(any, 4, typed, 4, ACL_MEMCPY_DEFAULT), "aclrtMemcpy", typed);
    EXPECT(aclrtMemcpy(buffer, 4, buffer, 4, ACL_MEMCPY_DEFAULT), "aclrtMemcpy", typed);
    EXPECT(aclrtMemcpy(nullptr, 4, typed, 4, ACL_MEMCPY_DEFAULT), "aclrtMemcpy", nullptr);
    EXPECT(aclrtMemcpy(NULL, 4, NULL, 4, ACL_MEMCPY_DEFAULT), "aclrtMemcpy", nullptr);
    EXPECT(aclrtMemcpyAsync(typed, 4, any, 4, ACL_MEMCPY_DEFAULT, nullptr), "aclrtMemcpyAsync", typed);
    EXPECT(aclrtHostUnregister(any), "aclrtHostUnregister", typed);
    EXPECT(aclrtHostUnregister(typed), "aclrtHostUnregister", typed);

    aclrtMemcpyBatchAttr attr = {};
    void *pointers[] = {any};
    float *floats[] = {typed};
    const float *constants[] = {&constant};
    size_t sizes[] = {4}, index = 0, failure = 0;
    EXPECT(aclrtMemcpyBatch(pointers, sizes, pointers, sizes, 1, &attr, &index, 1, &failure), "aclrtMemcpyBatch", pointers);
    EXPECT(aclrtMemcpyBatch(pointers, sizes, pointers, sizes, 1, &attr, &index, 1), "aclrtMemcpyBatchV2", pointers);
    EXPECT(aclrtMemcpyBatch(pointers, sizes, pointers, sizes, 1, attr), "aclrtMemcpyBatchV2", pointers);
    EXPECT(aclrtMemcpyBatch(floats, sizes, constants, sizes, 1, attr), "aclrtMemcpyBatchV2", floats);

    aclError (*wait)(aclrtStream) = aclrtSynchronizeStream;
    EXPECT(wait(stream), "aclrtSynchronizeStream", nullptr);
    std::puts(failed ? "failed" : "passed");
    return failed;
}
