// soc: all
// schedules: all
// expects: C2 R1
/* Argument and context checks of the allocation and release functions, and the alignment of the memory they return. */
#include "../expect.h"

#define SIZE 1000

static void *shared_device, *shared_pinned;

static void *without_context(void *unused)
{
    (void)unused;
    void *memory = NULL;
    /* 1.14: arguments are checked before the context */
    EXPECT_CODE(aclrtMalloc(NULL, SIZE, ACL_MEM_MALLOC_HUGE_FIRST), 100000);
    EXPECT_CODE(aclrtMalloc(&memory, 0, ACL_MEM_MALLOC_HUGE_FIRST), 100000);
    EXPECT_CODE(aclrtMalloc(&memory, SIZE, ACL_MEM_MALLOC_HUGE_FIRST), 107002); /* 1.14: no context */
    EXPECT_CODE(aclrtMallocAlign32(&memory, SIZE, ACL_MEM_MALLOC_HUGE_FIRST), 107002);
    EXPECT_CODE(aclrtMallocCached(&memory, SIZE, ACL_MEM_MALLOC_HUGE_FIRST), 107002);
    EXPECT_CODE(aclrtMallocWithCfg(&memory, SIZE, ACL_MEM_MALLOC_HUGE_FIRST, NULL), 107002);
    EXPECT_CODE(aclrtMallocHost(&memory, SIZE), 107002);                        /* 1.14: pinned memory needs one too */
    EXPECT_TRUE(memory == NULL, "a failed call wrote the pointer");
    EXPECT_OK(aclrtFree(shared_device));                                        /* 1.14: release needs no context */
    EXPECT_OK(aclrtFreeHost(shared_pinned));
    return NULL;
}

static void check_configurations(void)
{
    void *memory = NULL;
    aclrtMallocAttribute attribute;
    memset(&attribute, 0, sizeof attribute);
    attribute.attr = ACL_RT_MEM_ATTR_DEVICE_ID;
    attribute.value.deviceId = 0;
    aclrtMallocConfig config = {&attribute, 1};
    EXPECT_OK(aclrtMallocWithCfg(&memory, SIZE, ACL_MEM_MALLOC_HUGE_FIRST, NULL)); /* 1.14: no configuration */
    EXPECT_OK(aclrtFree(memory));
    EXPECT_OK(aclrtMallocWithCfg(&memory, SIZE, ACL_MEM_MALLOC_HUGE_FIRST, &config));
    EXPECT_OK(aclrtFree(memory));
    REQUIRE_OK(aclrtMallocHostWithCfg(&memory, SIZE, NULL));
    memset(memory, 1, SIZE);
    EXPECT_OK(aclrtFreeHost(memory));
    attribute.value.deviceId = 1;
    EXPECT_CODE(aclrtMallocWithCfg(&memory, SIZE, ACL_MEM_MALLOC_HUGE_FIRST, &config), 107000); /* 1.14: other device */
    config.attrs = NULL;
    /* 1.14: null attributes */
    EXPECT_CODE(aclrtMallocWithCfg(&memory, SIZE, ACL_MEM_MALLOC_HUGE_FIRST, &config), 100000);
    EXPECT_CODE(aclrtMallocHostWithCfg(&memory, SIZE, &config), 100000);
    config.numAttrs = 0;
    EXPECT_OK(aclrtMallocWithCfg(&memory, SIZE, ACL_MEM_MALLOC_HUGE_FIRST, &config));
    EXPECT_OK(aclrtFree(memory));
    EXPECT_CODE(aclrtMallocWithCfg(&memory, 0, ACL_MEM_MALLOC_HUGE_FIRST, NULL), 100000);
}

int main(void)
{
    void *memory = NULL;
    EXPECT_CODE(aclrtMalloc(&memory, SIZE, ACL_MEM_MALLOC_HUGE_FIRST), 107002);
    REQUIRE_OK(aclrtSetDevice(0));
    shared_device = device_memory(SIZE);
    shared_pinned = pinned_memory(SIZE);
    in_new_thread(without_context, NULL);

    EXPECT_CODE(aclrtMalloc(&memory, 0, ACL_MEM_MALLOC_HUGE_FIRST), 100000);            /* 1.14: size 0 */
    EXPECT_CODE(aclrtMalloc(&memory, SIZE_MAX, ACL_MEM_MALLOC_HUGE_FIRST), 100000);     /* 1.14: overflow */
    EXPECT_CODE(aclrtMalloc(&memory, SIZE_MAX - 63, ACL_MEM_MALLOC_HUGE_FIRST), 100000);
    EXPECT_CODE(aclrtMalloc(&memory, (size_t)1 << 46, ACL_MEM_MALLOC_HUGE_FIRST), 207001); /* 1.14: out of memory */
    EXPECT_CODE(aclrtMallocHost(&memory, 0), 100000);
    EXPECT_CODE(aclrtFree(NULL), 100000);                                               /* 1.14: unlike free() */
    EXPECT_CODE(aclrtFreeHost(NULL), 100000);
    EXPECT_CODE(aclrtFreeWithDevSync(NULL), 100000);
    EXPECT_CODE(aclrtFreeHostWithDevSync(NULL), 100000);

    static const int policies[] = {0, 1, 2, 3, 4, 5, 99, 12345}; /* 1.14: unknown values are accepted */
    static const size_t sizes[] = {1, 31, 32, 33, 4096, 100000, 3 << 20};
    uint8_t *blocks[8];
    for (int i = 0; i < 8; i++) {
        size_t size = sizes[i % 7];
        memory = NULL;
        REQUIRE_OK(aclrtMalloc(&memory, size, (aclrtMemMallocPolicy)policies[i]));
        EXPECT_TRUE(memory != NULL && (uintptr_t)memory % 64 == 0, "policy %d: %p", policies[i], memory);
        blocks[i] = (uint8_t *)memory;
        device_fill(blocks[i], size, (uint32_t)i);
    }
    for (int i = 0; i < 8; i++) { /* the blocks do not overlap */
        EXPECT_DEVICE_PATTERN(blocks[i], sizes[i % 7], (uint32_t)i);
        EXPECT_OK(aclrtFree(blocks[i]));
    }
    REQUIRE_OK(aclrtMallocAlign32(&memory, 33, ACL_MEM_MALLOC_NORMAL_ONLY));
    EXPECT_TRUE((uintptr_t)memory % 32 == 0, "%p", memory);
    device_fill(memory, 33, 1);
    EXPECT_OK(aclrtFree(memory));
    REQUIRE_OK(aclrtMallocCached(&memory, 64, ACL_MEM_MALLOC_NORMAL_ONLY));
    device_fill(memory, 64, 1);
    EXPECT_OK(aclrtMemFlush(memory, 64));
    EXPECT_OK(aclrtMemInvalidate(memory, 64));
    EXPECT_FAILS(aclrtMemFlush(memory, 0));
    EXPECT_OK(aclrtFree(memory));
    check_configurations();

    /* The variants with a device wait return after all tasks queued before have run. */
    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    void *device = device_memory(SIZE);
    static int ran;
    for (int i = 0; i < 50; i++) {
        REQUIRE_OK(aclrtLaunchHostFunc(stream, count_up, &ran));
    }
    REQUIRE_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtFreeWithDevSync(device));
    EXPECT_TRUE(count_of(&ran) == 50, "%d of 50 had run", count_of(&ran));
    REQUIRE_OK(aclrtLaunchHostFunc(stream, count_up, &ran));
    EXPECT_OK(aclrtFreeHostWithDevSync(pinned));
    EXPECT_TRUE(count_of(&ran) == 51, "%d of 51 had run", count_of(&ran));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
