// soc: Ascend910B
// softacl-only
// must-find: H1
// must-count: H3
/* A record whose mutex is in the page of its data: the page cannot be protected, so a source is compared, and a
 * destination is counted. */
#include "../expect.h"

struct record {
    pthread_mutex_t lock;
    uint8_t data[1000];
};

/* Changes the data under the lock. */
static void change(struct record *record, int value)
{
    pthread_mutex_lock(&record->lock);
    memset(record->data, value, sizeof record->data);
    pthread_mutex_unlock(&record->lock);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    struct record *record = (struct record *)pinned_memory(sizeof *record);
    uint8_t *device = (uint8_t *)device_memory(sizeof record->data);
    size_t size = sizeof record->data;
    pthread_mutex_init(&record->lock, NULL);
    change(record, 1);
    EXPECT_OK(aclrtMemcpyAsync(device, size, record->data, size, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    change(record, 2);
    EXPECT_OK(aclrtMemcpyAsync(device, size, record->data, size, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    change(record, 3); /* H1: the lock does not order the copy */
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtMemcpyAsync(record->data, size, device, size, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    pthread_mutex_destroy(&record->lock);
    EXPECT_OK(aclrtFreeHost(record));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
