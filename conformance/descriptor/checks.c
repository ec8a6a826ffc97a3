// soc: Ascend910B Ascend910C Ascend950 Ascend310B
// schedules: all
// expects: C1 C2
/* Descriptor copies: the argument checks of the three functions, and their order (1.6). */
#include "../expect.h"

#define SIZE 256
#define INNER ACL_MEMCPY_INNER_DEVICE_TO_DEVICE
#define FOUR_GIB ((size_t)4 << 30)

static uint8_t *descriptor, *source, *target;
static aclrtStream stream, stale;

static void *without_context(void *unused)
{
    (void)unused;
    EXPECT_CODE(aclrtSetMemcpyDesc(descriptor, INNER, source, target, SIZE, NULL), 107002); /* 1.6 Set, no context */
    EXPECT_CODE(aclrtMemcpyAsyncWithDesc(descriptor, INNER, stream), 107002); /* 1.6 copy, no context */
    /* the handle is checked before the context */
    EXPECT_CODE(aclrtMemcpyAsyncWithDesc(descriptor, INNER, stale), 107017);
    /* the alignment is checked before the context */
    EXPECT_CODE(aclrtMemcpyAsyncWithDesc(descriptor + 1, INNER, stream), 107000);
    size_t size = 0;
    EXPECT_OK(aclrtGetMemcpyDescSize(INNER, &size));
    return NULL;
}

static void check_size(void)
{
    size_t size = 0;
    EXPECT_CODE(aclrtGetMemcpyDescSize(INNER, NULL), 100000);                                    /* 1.6 Size, null */
    EXPECT_CODE(aclrtGetMemcpyDescSize((aclrtMemcpyKind)8, &size), 100000);                      /* 1.6 Size, kind */
    EXPECT_CODE(aclrtGetMemcpyDescSize((aclrtMemcpyKind)-1, &size), 100000);
    for (int kind = 0; kind < 8; kind++) {
        if (kind != 6) {
            EXPECT_CODE(aclrtGetMemcpyDescSize((aclrtMemcpyKind)kind, &size), 207000); /* 1.6 Size, kind not 6 */
        }
    }
    EXPECT_TRUE(size == 0, "the size was written");
    EXPECT_OK(aclrtGetMemcpyDescSize(INNER, &size));
    EXPECT_TRUE(size == (family() == FAMILY_950 ? 64 : 32), "descriptor size %zu", size);
}

static void check_set(void)
{
    static uint64_t config;
    EXPECT_CODE(aclrtSetMemcpyDesc(NULL, INNER, source, target, SIZE, NULL), 100000); /* 1.6 Set, in this order */
    EXPECT_CODE(aclrtSetMemcpyDesc(descriptor, (aclrtMemcpyKind)8, source, target, SIZE, NULL), 100000);
    EXPECT_CODE(aclrtSetMemcpyDesc(descriptor, (aclrtMemcpyKind)-1, source, target, SIZE, NULL), 100000);
    EXPECT_CODE(aclrtSetMemcpyDesc(descriptor, INNER, NULL, target, SIZE, NULL), 100000);
    EXPECT_CODE(aclrtSetMemcpyDesc(descriptor, INNER, source, NULL, SIZE, NULL), 100000);
    EXPECT_CODE(aclrtSetMemcpyDesc(descriptor, INNER, source, target, 0, NULL), 100000);
    EXPECT_CODE(aclrtSetMemcpyDesc(descriptor, INNER, source, target, SIZE, &config), 100000);
    EXPECT_CODE(aclrtSetMemcpyDesc(descriptor, ACL_MEMCPY_DEVICE_TO_DEVICE, source, target, 0, NULL), 100000);
    EXPECT_CODE(aclrtSetMemcpyDesc(descriptor, ACL_MEMCPY_DEVICE_TO_DEVICE, source, target, SIZE, NULL), 207000);
    EXPECT_CODE(aclrtSetMemcpyDesc(descriptor, (aclrtMemcpyKind)7, source, target, FOUR_GIB + 1, NULL), 207000);
    EXPECT_CODE(aclrtSetMemcpyDesc(descriptor, INNER, source, target, FOUR_GIB + 1, NULL), 107000);
    EXPECT_CODE(aclrtSetMemcpyDesc(descriptor, INNER, source, target, SIZE_MAX, NULL), 107000);
    EXPECT_CODE(aclrtSetMemcpyDesc(descriptor + 1, INNER, source, target, SIZE, NULL), 107000);
    EXPECT_CODE(aclrtSetMemcpyDesc(descriptor + 32, INNER, source, target, SIZE, NULL), 107000);

    uint8_t *pinned = (uint8_t *)pinned_memory(4096);
    uint8_t *pageable = (uint8_t *)pageable_memory(4096);
    /* descriptor not on the device */
    EXPECT_CODE(aclrtSetMemcpyDesc(pinned, INNER, source, target, SIZE, NULL), 107000);
    /* source not on the device */
    EXPECT_CODE(aclrtSetMemcpyDesc(descriptor, INNER, pinned, target, SIZE, NULL), 107000);
    /* destination not on the device */
    EXPECT_CODE(aclrtSetMemcpyDesc(descriptor, INNER, source, pinned, SIZE, NULL), 107000);
    EXPECT_CODE(aclrtSetMemcpyDesc(descriptor, INNER, pageable, target, SIZE, NULL), 107000);
    EXPECT_CODE(aclrtMemcpyAsyncWithDesc(pinned, INNER, stream), 107000); /* 1.6 copy, not device */
    EXPECT_OK(aclrtFreeHost(pinned));
    free(pageable);
    EXPECT_OK(aclrtSetMemcpyDesc(descriptor + 64, INNER, source, target, SIZE, NULL));
}

static void check_copy(void)
{
    EXPECT_CODE(aclrtMemcpyAsyncWithDesc(NULL, INNER, stream), 100000); /* 1.6 copy, in this order */
    EXPECT_CODE(aclrtMemcpyAsyncWithDesc(descriptor, (aclrtMemcpyKind)8, stream), 100000);
    EXPECT_CODE(aclrtMemcpyAsyncWithDesc(descriptor, INNER, NULL), 100000); /* NULL is not the default stream here */
    EXPECT_CODE(aclrtMemcpyAsyncWithDesc(descriptor, INNER, stale), 107017);
    EXPECT_CODE(aclrtMemcpyAsyncWithDesc(descriptor, ACL_MEMCPY_DEVICE_TO_DEVICE, stale), 107017);
    for (int kind = 0; kind < 8; kind++) {
        if (kind != 6) {
            EXPECT_CODE(aclrtMemcpyAsyncWithDesc(descriptor, (aclrtMemcpyKind)kind, stream), 207000);
        }
    }
    EXPECT_CODE(aclrtMemcpyAsyncWithDesc(descriptor + 1, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), 207000);
    EXPECT_CODE(aclrtMemcpyAsyncWithDesc(descriptor + 1, INNER, stream), 107000);
    EXPECT_CODE(aclrtMemcpyAsyncWithDesc(descriptor + 32, INNER, stream), 107000);

    aclrtContext primary = NULL, other = NULL;
    REQUIRE_OK(aclrtGetCurrentContext(&primary));
    REQUIRE_OK(aclrtCreateContext(&other, 0));
    EXPECT_CODE(aclrtMemcpyAsyncWithDesc(descriptor, INNER, stream), 107003);
    REQUIRE_OK(aclrtSetCurrentContext(primary));
    EXPECT_OK(aclrtDestroyContext(other));
}

int main(void)
{
    size_t size = 0;
    EXPECT_OK(aclrtGetMemcpyDescSize(INNER, &size)); /* needs no current device */
    REQUIRE_OK(aclrtSetDevice(0));
    descriptor = (uint8_t *)device_memory(256);
    source = (uint8_t *)device_memory(SIZE);
    target = (uint8_t *)device_memory(SIZE);
    stream = new_stream();
    stale = stale_stream();
    REQUIRE_TRUE((uintptr_t)descriptor % 64 == 0, "the allocation is not aligned to 64 bytes");
    check_size();
    check_set();
    check_copy();
    in_new_thread(without_context, NULL);

    /* Source and destination on different devices. */
    uint32_t devices = 0;
    REQUIRE_OK(aclrtGetDeviceCount(&devices));
    if (devices > 1) {
        REQUIRE_OK(aclrtSetDevice(1));
        void *remote = device_memory(SIZE);
        REQUIRE_OK(aclrtSetDevice(0));
        EXPECT_CODE(aclrtSetMemcpyDesc(descriptor, INNER, source, remote, SIZE, NULL), 107000);
        EXPECT_CODE(aclrtSetMemcpyDesc(descriptor, INNER, remote, target, SIZE, NULL), 107000);
        EXPECT_OK(aclrtFree(remote));
        EXPECT_OK(aclrtResetDevice(1));
        REQUIRE_OK(aclrtResetDevice(0));
    }
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtFree(descriptor));
    EXPECT_OK(aclrtFree(source));
    EXPECT_OK(aclrtFree(target));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDeviceForce(0));
    return finish();
}
