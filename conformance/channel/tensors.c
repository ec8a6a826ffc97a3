// softacl-only
// soc: Ascend910B Ascend910C Ascend950 Ascend910A
/*
 * Channels within one process: what is sent is received, complete and in order. A card has a program on the other
 * side of a channel, so this cannot run there.
 */
#include "../expect.h"

#include "acl/acl_tdt.h"

/* The numbers of acltdtTensorType are not public. They travel with the item. */
enum { SOME_TYPE = 1, OTHER_TYPE = 3 };

static acltdtDataItem *item_of(float *data, size_t count)
{
    int64_t dims[] = {1, (int64_t)count};
    acltdtDataItem *item = acltdtCreateDataItem(SOME_TYPE, dims, 2, ACL_FLOAT, data, count * sizeof *data);
    REQUIRE_TRUE(item != NULL, "item");
    return item;
}

static void items(void)
{
    float data[3] = {1, 2, 3};
    int64_t dims[4] = {-1, -1, -1, -1};
    size_t slices = 0, slice = 9;
    acltdtDataItem *item = item_of(data, 3);
    EXPECT_TRUE(acltdtGetTensorTypeFromItem(item) == SOME_TYPE, "type");
    EXPECT_TRUE(acltdtGetDataTypeFromItem(item) == ACL_FLOAT, "element type");
    EXPECT_TRUE(acltdtGetDataAddrFromItem(item) == data, "address");
    EXPECT_TRUE(acltdtGetDataSizeFromItem(item) == sizeof data, "size");
    EXPECT_TRUE(acltdtGetDimNumFromItem(item) == 2, "dimensions");
    EXPECT_OK(acltdtGetDimsFromItem(item, dims, 4));
    EXPECT_TRUE(dims[0] == 1 && dims[1] == 3 && dims[2] == -1, "the dimensions and no more");
    EXPECT_CODE(acltdtGetDimsFromItem(item, dims, 1), ACL_ERROR_INVALID_PARAM);
    EXPECT_CODE(acltdtGetDimsFromItem(item, NULL, 2), ACL_ERROR_INVALID_PARAM);
    EXPECT_OK(acltdtGetSliceInfoFromItem(item, &slices, &slice));
    EXPECT_TRUE(slices == 1 && slice == 0, "a whole tensor");
    EXPECT_TRUE(acltdtCreateDataItem(SOME_TYPE, NULL, 2, ACL_FLOAT, data, 8) == NULL, "dims is NULL");
    EXPECT_TRUE(acltdtCreateDataItem(SOME_TYPE, (int64_t *)16, 2, ACL_FLOAT, data, 8) == NULL, "wild dims");
    EXPECT_TRUE(acltdtCreateDataItem(SOME_TYPE, dims, 1u << 30, ACL_FLOAT, data, 8) == NULL, "too many");
    EXPECT_TRUE(acltdtCreateDataItem(SOME_TYPE, dims, 1, ACL_FLOAT, NULL, 8) == NULL, "data is NULL");

    acltdtDataset *list = acltdtCreateDataset();
    EXPECT_TRUE(acltdtGetDatasetSize(list) == 0 && acltdtGetDataItem(list, 0) == NULL, "an empty list");
    EXPECT_OK(acltdtAddDataItem(list, item));
    EXPECT_TRUE(acltdtGetDatasetSize(list) == 1 && acltdtGetDataItem(list, 0) == item, "one item");
    EXPECT_TRUE(strcmp(acltdtGetDatasetName(list), "") == 0, "no name");
    EXPECT_CODE(acltdtAddDataItem(list, NULL), ACL_ERROR_INVALID_PARAM);
    EXPECT_CODE(acltdtAddDataItem((acltdtDataset *)item, item), ACL_ERROR_INVALID_PARAM);
    EXPECT_OK(acltdtDestroyDataset(list));
    EXPECT_CODE(acltdtDestroyDataset(list), ACL_ERROR_INVALID_PARAM);
    EXPECT_TRUE(acltdtGetDataSizeFromItem(item) == sizeof data, "the list does not own what was added");
    EXPECT_OK(acltdtDestroyDataItem(item));
    EXPECT_CODE(acltdtDestroyDataItem(item), ACL_ERROR_INVALID_PARAM);
    EXPECT_TRUE(acltdtGetDataAddrFromItem(item) == NULL && acltdtGetDatasetName(NULL) == NULL, "nothing there");
}

static void round_trip(acltdtChannelHandle *channel)
{
    float data[4] = {1, 2, 3, 4};
    acltdtDataItem *item = item_of(data, 4);
    acltdtDataItem *mark = acltdtCreateDataItem(OTHER_TYPE, NULL, 0, ACL_INT8, NULL, 0);
    acltdtDataset *sent = acltdtCreateDataset(), *received = acltdtCreateDataset();
    EXPECT_OK(acltdtAddDataItem(sent, item));
    EXPECT_OK(acltdtAddDataItem(sent, mark));
    EXPECT_OK(acltdtSendTensor(channel, sent, -1));
    memset(data, 0, sizeof data);
    EXPECT_CODE(acltdtReceiveTensor(channel, sent, 0), ACL_ERROR_INVALID_PARAM);
    EXPECT_OK(acltdtReceiveTensor(channel, received, -1));
    REQUIRE_TRUE(acltdtGetDatasetSize(received) == 2, "two items");
    EXPECT_TRUE(strcmp(acltdtGetDatasetName(received), "tensors") == 0, "the name of the channel");
    acltdtDataItem *first = acltdtGetDataItem(received, 0), *second = acltdtGetDataItem(received, 1);
    const float *found = (const float *)acltdtGetDataAddrFromItem(first);
    EXPECT_TRUE(acltdtGetDataSizeFromItem(first) == sizeof data && found != data, "a copy");
    EXPECT_TRUE(found[0] == 1 && found[3] == 4, "the bytes at the time of the send");
    EXPECT_TRUE(acltdtGetTensorTypeFromItem(first) == SOME_TYPE && acltdtGetDimNumFromItem(first) == 2, "description");
    EXPECT_TRUE(acltdtGetTensorTypeFromItem(second) == OTHER_TYPE && acltdtGetDataSizeFromItem(second) == 0, "no data");
    /* What was received can be sent again, and ends with its list. */
    EXPECT_OK(acltdtSendTensor(channel, received, 0));
    EXPECT_OK(acltdtDestroyDataset(received));
    EXPECT_TRUE(acltdtGetDataAddrFromItem(first) == NULL, "received items end with their list");
    EXPECT_OK(acltdtCleanChannel(channel));

    /* Memory that cannot be read, and an item that is gone. */
    acltdtDataItem *wild = acltdtCreateDataItem(SOME_TYPE, NULL, 0, ACL_INT8, (void *)16, 64);
    acltdtDataset *bad = acltdtCreateDataset();
    EXPECT_OK(acltdtAddDataItem(bad, wild));
    EXPECT_CODE(acltdtSendTensor(channel, bad, 0), ACL_ERROR_INVALID_PARAM);
    EXPECT_OK(acltdtDestroyDataItem(wild));
    EXPECT_CODE(acltdtSendTensor(channel, bad, 0), ACL_ERROR_INVALID_PARAM);
    size_t size = 9;
    EXPECT_OK(acltdtQueryChannelSize(channel, &size));
    EXPECT_TRUE(size == 0, "nothing was sent");
    EXPECT_OK(acltdtDestroyDataset(bad));
    EXPECT_OK(acltdtDestroyDataset(sent));
    EXPECT_OK(acltdtDestroyDataItem(item));
    EXPECT_OK(acltdtDestroyDataItem(mark));
}

static void limits(acltdtChannelHandle *channel)
{
    acltdtDataset *empty = acltdtCreateDataset(), *received = acltdtCreateDataset();
    size_t size = 0;
    EXPECT_CODE(acltdtReceiveTensor(channel, received, 0), ACL_ERROR_RT_QUEUE_EMPTY);
    EXPECT_CODE(acltdtReceiveTensor(channel, received, 5), ACL_ERROR_RT_QUEUE_EMPTY);
    EXPECT_CODE(acltdtReceiveTensor(channel, received, -2), ACL_ERROR_INVALID_PARAM);
    EXPECT_OK(acltdtSendTensor(channel, empty, 0));
    EXPECT_OK(acltdtSendTensor(channel, empty, 0));
    EXPECT_CODE(acltdtSendTensor(channel, empty, 0), ACL_ERROR_RT_QUEUE_FULL);
    EXPECT_CODE(acltdtSendTensor(channel, empty, 5), ACL_ERROR_RT_QUEUE_FULL);
    EXPECT_OK(acltdtQueryChannelSize(channel, &size));
    EXPECT_TRUE(size == 2, "two elements");
    /* Another handle with the same name and device has the same contents. */
    acltdtChannelHandle *other = acltdtCreateChannelWithCapacity(0, "tensors", 50);
    acltdtChannelHandle *distant = acltdtCreateChannelWithCapacity(1, "tensors", 50);
    EXPECT_OK(acltdtReceiveTensor(other, received, 0));
    EXPECT_CODE(acltdtReceiveTensor(distant, received, 0), ACL_ERROR_RT_QUEUE_EMPTY);
    EXPECT_OK(acltdtDestroyChannel(distant));
    EXPECT_OK(acltdtDestroyChannel(other));
    EXPECT_FAILS(acltdtDestroyChannel(other));
    EXPECT_FAILS(acltdtSendTensor(other, empty, 0));
    EXPECT_OK(acltdtCleanChannel(channel));
    EXPECT_OK(acltdtQueryChannelSize(channel, &size));
    EXPECT_TRUE(size == 0, "clean");
    EXPECT_TRUE(acltdtCreateChannelWithCapacity(99, "tensors", 2) == NULL, "no such device");
    EXPECT_TRUE(acltdtCreateChannelWithCapacity(0, NULL, 2) == NULL, "no name");
    EXPECT_TRUE(acltdtCreateChannelWithCapacity(0, "none", 0) == NULL, "no capacity");
    EXPECT_CODE(acltdtQueryChannelSize(NULL, &size), ACL_ERROR_INVALID_PARAM);
    EXPECT_OK(acltdtDestroyDataset(empty));
    EXPECT_OK(acltdtDestroyDataset(received));
}

static acltdtChannelHandle *shared;
static struct flag waiting = FLAG_INITIALIZER;

static void *send_many(void *argument)
{
    int32_t value = 0;
    acltdtDataItem *item = acltdtCreateDataItem(SOME_TYPE, NULL, 0, ACL_INT32, &value, sizeof value);
    acltdtDataset *list = acltdtCreateDataset();
    EXPECT_OK(acltdtAddDataItem(list, item));
    for (value = 0; value < 100; value++) {
        EXPECT_OK(acltdtSendTensor(shared, list, -1));
    }
    EXPECT_OK(acltdtDestroyDataset(list));
    EXPECT_OK(acltdtDestroyDataItem(item));
    return argument;
}

static void *wait_forever(void *argument)
{
    acltdtDataset *list = acltdtCreateDataset();
    flag_set(&waiting, 1);
    EXPECT_CODE(acltdtReceiveTensor(shared, list, -1), ACL_ERROR_RT_QUEUE_EMPTY);
    EXPECT_OK(acltdtDestroyDataset(list));
    return argument;
}

static void threads(acltdtChannelHandle *channel)
{
    shared = channel;
    pthread_t thread;
    REQUIRE_TRUE(pthread_create(&thread, NULL, send_many, NULL) == 0, "pthread_create");
    for (int32_t i = 0; i < 100; i++) {
        acltdtDataset *list = acltdtCreateDataset();
        EXPECT_OK(acltdtReceiveTensor(channel, list, -1));
        const int32_t *value = (const int32_t *)acltdtGetDataAddrFromItem(acltdtGetDataItem(list, 0));
        EXPECT_TRUE(value != NULL && *value == i, "element %d", i);
        EXPECT_OK(acltdtDestroyDataset(list));
    }
    pthread_join(thread, NULL);
    /* A stopped channel lets its waiting threads continue. */
    REQUIRE_TRUE(pthread_create(&thread, NULL, wait_forever, NULL) == 0, "pthread_create");
    flag_await(&waiting, 1);
    EXPECT_OK(acltdtStopChannel(channel));
    pthread_join(thread, NULL);
}

int main(void)
{
    items();
    acltdtChannelHandle *channel = acltdtCreateChannelWithCapacity(0, "tensors", 2);
    REQUIRE_TRUE(channel != NULL, "channel");
    round_trip(channel);
    limits(channel);
    threads(channel);
    EXPECT_OK(acltdtDestroyChannel(channel));
    return finish();
}
