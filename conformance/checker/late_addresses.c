// soc: Ascend910B
// softacl-only
// schedules: all
/* Copies whose addresses are known only when they run: a descriptor that is set behind a notify wait, a descriptor that a
 * queued copy writes, and address cells that a queued copy uploads. The bytes that they write are written. */
#include "../expect.h"

#define SIZE 4096
#define KIND ACL_MEMCPY_INNER_DEVICE_TO_DEVICE

static aclrtStream stream;
static uint8_t *host;

/* Downloads `target` right behind the copy, in stream order. */
static void expect_copied(const uint8_t *target, int value)
{
    EXPECT_OK(aclrtMemcpyAsync(host, SIZE, target, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(host[0] == value && host[SIZE - 1] == value, "bytes are %d and %d", host[0], host[SIZE - 1]);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    aclrtStream other = new_stream();
    host = (uint8_t *)pinned_memory(SIZE);
    uint8_t *source = (uint8_t *)device_memory(SIZE);
    EXPECT_OK(aclrtMemset(source, SIZE, 4, SIZE));
    size_t size = 0;
    REQUIRE_OK(aclrtGetMemcpyDescSize(KIND, &size));

    uint8_t *late = (uint8_t *)device_memory(SIZE);
    void *descriptor = device_memory(size);
    aclrtNotify notify;
    REQUIRE_OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
    EXPECT_OK(aclrtWaitAndResetNotify(notify, stream, 0));
    EXPECT_OK(aclrtMemcpyAsyncWithDesc(descriptor, KIND, stream));
    EXPECT_OK(aclrtSetMemcpyDesc(descriptor, KIND, source, late, SIZE, NULL));
    EXPECT_OK(aclrtRecordNotify(notify, other));
    expect_copied(late, 4);
    EXPECT_OK(aclrtSynchronizeStream(other));
    EXPECT_OK(aclrtDestroyNotify(notify));

    uint8_t *copied = (uint8_t *)device_memory(SIZE);
    void *filled = device_memory(size);
    EXPECT_OK(aclrtSetMemcpyDesc(descriptor, KIND, source, copied, SIZE, NULL));
    EXPECT_OK(aclrtMemcpyAsync(filled, size, descriptor, size, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtMemcpyAsyncWithDesc(filled, KIND, stream));
    expect_copied(copied, 4);

    uint8_t *named = (uint8_t *)device_memory(SIZE);
    uint8_t **cells = (uint8_t **)device_memory(64), **upload = (uint8_t **)pinned_memory(64);
    upload[0] = named;
    upload[1] = source;
    EXPECT_OK(aclrtMemcpyAsync(cells, 64, upload, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtMemcpyAsyncWithOffset((void **)&cells[0], SIZE, 0, (const void **)&cells[1], SIZE, 0, KIND, stream));
    expect_copied(named, 4);

    void *device[] = {source, late, copied, named, descriptor, filled, cells};
    for (size_t i = 0; i < sizeof device / sizeof *device; i++) {
        EXPECT_OK(aclrtFree(device[i]));
    }
    EXPECT_OK(aclrtFreeHost(host));
    EXPECT_OK(aclrtFreeHost(upload));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
