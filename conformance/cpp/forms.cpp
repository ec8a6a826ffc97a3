// soc: Ascend910B Ascend910C Ascend950
// schedules: all
// expects: B1
/* The C++ forms of acl/acl_rt_api.h: typed pointers, options as arguments, and the C calls beside them. */
#include "../expect.h"

#include "acl/acl_rt_api.h"

#include <vector>

static const size_t COUNT = 3000;
static const size_t BYTES = COUNT * sizeof(float);

static std::vector<float> numbers(float start)
{
    std::vector<float> all(COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        all[i] = start + static_cast<float>(i);
    }
    return all;
}

/* Waits with timeouts: the values that only the functions with a timeout refuse prove which one was called. */
static void waits(void)
{
    aclrtStream stream = nullptr, other = nullptr;
    aclrtEvent event = nullptr;
    REQUIRE_OK(aclrtCreateStream(&stream, 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC));
    REQUIRE_OK(aclrtCreateStream(&other));
    REQUIRE_OK(aclrtCreateEvent(&event, ACL_EVENT_SYNC));
    EXPECT_OK(aclrtRecordEvent(event, stream));
    EXPECT_OK(aclrtStreamWaitEvent(other, event, 1000));
    EXPECT_OK(aclrtStreamWaitEvent(other, event));
    EXPECT_OK(aclrtSynchronizeStream(stream, -1));
    EXPECT_OK(aclrtSynchronizeStream(other));
    EXPECT_OK(aclrtSynchronizeEvent(event, 1000));
    EXPECT_OK(aclrtSynchronizeDevice(-1));
    EXPECT_OK(aclrtSynchronizeDevice());
    EXPECT_CODE(aclrtSynchronizeDevice(0), ACL_ERROR_RT_PARAM_INVALID);
    EXPECT_CODE(aclrtSynchronizeStream(stream, -2), ACL_ERROR_RT_PARAM_INVALID);
    EXPECT_CODE(aclrtSynchronizeEvent(event, 0), ACL_ERROR_RT_PARAM_INVALID);
    EXPECT_CODE(aclrtCreateEvent(&event, 0), ACL_ERROR_RT_PARAM_INVALID);
    uint64_t actual = 0;
    EXPECT_OK(aclrtSetOpExecuteTimeOut(1000000, &actual));
    EXPECT_CODE(aclrtSetOpExecuteTimeOut(1000000, nullptr), ACL_ERROR_INVALID_PARAM);
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtDestroyStream(stream));
}

/* Every copy form moves its bytes. */
static void copies(float *device, float *pinned, aclrtStream stream)
{
    const std::vector<float> source = numbers(1);
    std::vector<float> result(COUNT, 0.0F);
    EXPECT_OK(aclrtMemcpy(device, BYTES, source.data(), BYTES, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_OK(aclrtMemcpyAsync(pinned, BYTES, device, BYTES, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream, 5000));
    EXPECT_TRUE(memcmp(pinned, source.data(), BYTES) == 0, "typed copies");

    /* One side typed, the other void. */
    void *untyped = device;
    EXPECT_OK(aclrtMemcpy(result.data(), BYTES, untyped, BYTES, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_TRUE(result == source, "a typed and an untyped side");
    EXPECT_CODE(aclrtMemcpy(nullptr, BYTES, source.data(), BYTES, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_INVALID_PARAM);

    const size_t pitch = 100 * sizeof(float), width = 60 * sizeof(float), height = COUNT / 100;
    const std::vector<float> rows = numbers(50000);
    EXPECT_OK(aclrtMemcpy2d(device, pitch, rows.data(), pitch, width, height, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_OK(aclrtMemcpy2dAsync(pinned, pitch, device, pitch, width, height, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    size_t wrong = 0;
    for (size_t i = 0; i < COUNT; i++) {
        wrong += pinned[i] != (i % 100 < 60 ? rows[i] : source[i]);
    }
    EXPECT_TRUE(wrong == 0, "%zu elements of the rows differ", wrong);
}

/* Batches with one attribute by value, and with a list. */
static void batches(float *device, float *pinned, aclrtStream stream)
{
    const size_t half = BYTES / 2, offset = COUNT / 2;
    aclrtMemcpyBatchAttr up = {}, down = {};
    up.dstLoc.type = down.srcLoc.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    up.srcLoc.type = down.dstLoc.type = ACL_MEM_LOCATION_TYPE_HOST;
    const std::vector<float> source = numbers(7);
    memcpy(pinned, source.data(), BYTES);
    float *on_device[] = {device, device + offset}, *on_host[] = {pinned, pinned + offset};
    const float *read_only[] = {pinned, pinned + offset};
    size_t sizes[] = {half, half}, first[] = {0};

    EXPECT_OK(aclrtMemcpyBatch(on_device, sizes, read_only, sizes, 2, up));
    memset(pinned, 0, BYTES);
    EXPECT_OK(aclrtMemcpyBatch(on_host, sizes, on_device, sizes, 2, &down, first, 1));
    EXPECT_TRUE(memcmp(pinned, source.data(), BYTES) == 0, "blocking batches");

    EXPECT_OK(aclrtMemcpyBatchAsync(on_device, sizes, on_host, sizes, 2, up, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    memset(pinned, 0, BYTES);
    EXPECT_OK(aclrtMemcpyBatchAsync(on_host, sizes, on_device, sizes, 2, &down, first, 1, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(memcmp(pinned, source.data(), BYTES) == 0, "asynchronous batches");

    /* The C function: failIndex is what only it has. */
    void *targets[] = {device, device + offset}, *sources[] = {pinned, nullptr};
    size_t failed = 0;
    EXPECT_FAILS(aclrtMemcpyBatch(targets, sizes, sources, sizes, 2, &up, first, 1, &failed));
    EXPECT_TRUE(failed == 1, "item %zu was refused", failed);
}

static void registration(void)
{
    alignas(4096) static float page[1024];
    float *mapped = nullptr, *again = nullptr;
    EXPECT_OK(aclrtHostRegister(page, sizeof page, ACL_HOST_REGISTER_MAPPED, &mapped));
    aclrtPtrAttributes attributes;
    EXPECT_OK(aclrtPointerGetAttributes(page, &attributes));
    EXPECT_TRUE(attributes.location.type == ACL_MEM_LOCATION_TYPE_HOST, "type %d", (int)attributes.location.type);
    EXPECT_OK(aclrtHostGetDevicePointer(&page[0], &again, 0));
    EXPECT_TRUE(mapped == again && mapped != nullptr, "two device addresses of one page");
    EXPECT_OK(aclrtHostUnregister(page));
    EXPECT_FAILS(aclrtHostUnregister(static_cast<void *>(page)));
}

/* Never called: variables of kernels and managed memory are compiled only. */
void compiled(float *device, void *any, aclrtStream stream);
void compiled(float *device, void *any, aclrtStream stream)
{
    static const int symbol = 0;
    float *address = nullptr;
    const float *ranges[] = {device};
    size_t size = 0, index = 0;
    aclrtMemManagedLocation location = {ACL_MEM_LOCATIONTYPE_DEVICE, 0};
    aclrtGetSymbolAddress(&symbol, &address);
    aclrtGetSymbolSize(&symbol, &size);
    aclrtMemcpyToSymbol(&symbol, device, 4, 0, ACL_MEMCPY_HOST_TO_DEVICE);
    aclrtMemcpyToSymbolAsync(&symbol, device, 4, 0, ACL_MEMCPY_HOST_TO_DEVICE, stream);
    aclrtMemcpyFromSymbol(device, 4, &symbol, 4, 0, ACL_MEMCPY_DEVICE_TO_HOST);
    aclrtMemcpyFromSymbolAsync(device, 4, &symbol, 4, 0, ACL_MEMCPY_DEVICE_TO_HOST, stream);
    aclrtMemcpyFromSymbol(any, 4, any, 4, 0, ACL_MEMCPY_DEVICE_TO_HOST);
    aclrtMemAllocManaged(&address, 4096, ACL_RT_MEM_ATTACH_GLOBAL);
    aclrtMemAllocManaged(&any, 4096, ACL_RT_MEM_ATTACH_GLOBAL);
    aclrtMemManagedPrefetchAsync(device, 4096, location, 0, stream);
    aclrtMemManagedPrefetchBatchAsync(ranges, &size, 1, &location, &index, 1, 0, stream);
}

int main()
{
    REQUIRE_OK(aclrtSetDevice(0));
    waits();
    aclrtStream stream = nullptr;
    float *device = nullptr, *pinned = nullptr;
    REQUIRE_OK(aclrtCreateStream(&stream));
    REQUIRE_OK(aclrtMalloc(&device, BYTES));
    REQUIRE_OK(aclrtMallocHost(&pinned, BYTES));
    copies(device, pinned, stream);
    batches(device, pinned, stream);
    registration();
    void *plain = nullptr;
    REQUIRE_OK(aclrtMalloc(&plain, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(aclrtFree(plain));
    REQUIRE_OK(aclrtMallocHost(&plain, BYTES));
    EXPECT_OK(aclrtFreeHost(plain));
    EXPECT_CODE(aclrtMalloc(&device, 0), ACL_ERROR_INVALID_PARAM);
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
