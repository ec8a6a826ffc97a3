// softacl-only
/*
 * Queues of raw data: order, limits, timeouts, what does not fit, and threads that wait. Settings are written by
 * their size, because the numbers of acltdtQueueAttrType are not public; on a card the numbers decide.
 */
#include "../expect.h"

#include "acl/acl_tdt_queue.h"

enum { SETTING = 0 };

static uint32_t new_queue(uint32_t depth)
{
    acltdtQueueAttr *attr = acltdtCreateQueueAttr();
    REQUIRE_TRUE(attr != NULL, "attributes");
    const char *name = "numbers";
    EXPECT_OK(acltdtSetQueueAttr(attr, SETTING, sizeof depth, &depth));
    EXPECT_OK(acltdtSetQueueAttr(attr, SETTING, sizeof name, &name));
    uint32_t queue = 0;
    REQUIRE_OK(acltdtCreateQueue(attr, &queue));
    EXPECT_OK(acltdtDestroyQueueAttr(attr));
    return queue;
}

static aclError put(uint32_t queue, int value, int32_t timeout)
{
    return acltdtEnqueueData(queue, &value, sizeof value, NULL, 0, timeout, 0);
}

static aclError take(uint32_t queue, int *value, int32_t timeout)
{
    size_t size = 0;
    return acltdtDequeueData(queue, value, sizeof *value, &size, NULL, 0, timeout);
}

static void settings(void)
{
    acltdtQueueAttr *attr = acltdtCreateQueueAttr();
    uint32_t depth = 7;
    const char *name = "a name";
    size_t size = 0;
    EXPECT_OK(acltdtSetQueueAttr(attr, SETTING, sizeof depth, &depth));
    EXPECT_OK(acltdtSetQueueAttr(attr, SETTING, sizeof name, &name));
    depth = 0;
    EXPECT_OK(acltdtGetQueueAttr(attr, SETTING, sizeof depth, &size, &depth));
    EXPECT_TRUE(depth == 7 && size == sizeof depth, "the depth was stored");
    name = NULL;
    EXPECT_OK(acltdtGetQueueAttr(attr, SETTING, sizeof name, &size, &name));
    EXPECT_TRUE(name != NULL && strcmp(name, "a name") == 0 && size == sizeof name, "the name was stored");
    EXPECT_CODE(acltdtSetQueueAttr(attr, SETTING, 3, &depth), ACL_ERROR_INVALID_PARAM);
    EXPECT_CODE(acltdtSetQueueAttr(attr, SETTING, sizeof depth, NULL), ACL_ERROR_INVALID_PARAM);
    const char *wild = (const char *)16;
    EXPECT_CODE(acltdtSetQueueAttr(attr, SETTING, sizeof wild, &wild), ACL_ERROR_INVALID_PARAM);
    uint32_t queue = 0;
    EXPECT_CODE(acltdtCreateQueue(attr, NULL), ACL_ERROR_INVALID_PARAM);
    EXPECT_CODE(acltdtCreateQueue(NULL, &queue), ACL_ERROR_INVALID_PARAM);
    depth = 0;
    EXPECT_OK(acltdtSetQueueAttr(attr, SETTING, sizeof depth, &depth));
    EXPECT_FAILS(acltdtCreateQueue(attr, &queue));
    EXPECT_OK(acltdtDestroyQueueAttr(attr));
    EXPECT_CODE(acltdtDestroyQueueAttr(attr), ACL_ERROR_INVALID_PARAM);
    EXPECT_CODE(acltdtCreateQueue(attr, &queue), ACL_ERROR_INVALID_PARAM);
}

static void order_and_limits(void)
{
    uint32_t queue = new_queue(2);
    int value = 0;
    EXPECT_CODE(take(queue, &value, 0), ACL_ERROR_RT_QUEUE_EMPTY);
    EXPECT_CODE(take(queue, &value, 5), ACL_ERROR_RT_QUEUE_EMPTY);
    EXPECT_OK(put(queue, 1, 0));
    EXPECT_OK(put(queue, 2, -1));
    EXPECT_CODE(put(queue, 3, 0), ACL_ERROR_RT_QUEUE_FULL);
    EXPECT_CODE(put(queue, 3, 5), ACL_ERROR_RT_QUEUE_FULL);
    EXPECT_CODE(put(queue, 3, -2), ACL_ERROR_INVALID_PARAM);
    EXPECT_OK(take(queue, &value, -1));
    EXPECT_TRUE(value == 1, "first in, first out");
    EXPECT_OK(take(queue, &value, 0));
    EXPECT_TRUE(value == 2, "first in, first out");
    EXPECT_OK(acltdtDestroyQueue(queue));
    EXPECT_CODE(acltdtDestroyQueue(queue), ACL_ERROR_INVALID_QUEUE_ID);
    EXPECT_CODE(put(queue, 1, 0), ACL_ERROR_INVALID_QUEUE_ID);
    EXPECT_CODE(take(queue, &value, 0), ACL_ERROR_INVALID_QUEUE_ID);
}

static void copies_and_user_data(void)
{
    uint32_t queue = new_queue(4);
    char data[64], user[96], found[64], area[96];
    memset(data, 'd', sizeof data);
    memset(user, 'u', sizeof user);
    EXPECT_OK(acltdtEnqueueData(queue, data, sizeof data, user, 5, 0, 0));
    memset(data, 'x', sizeof data);
    memset(user, 'x', sizeof user);
    /* What does not fit stays in the queue. */
    size_t size = 0;
    EXPECT_FAILS(acltdtDequeueData(queue, found, sizeof found - 1, &size, NULL, 0, 0));
    EXPECT_TRUE(size == sizeof data, "the size that is needed");
    EXPECT_CODE(acltdtDequeueData(queue, (void *)16, sizeof found, &size, NULL, 0, 0), ACL_ERROR_INVALID_PARAM);
    EXPECT_CODE(acltdtDequeueData(queue, found, sizeof found, &size, NULL, 1, 0), ACL_ERROR_INVALID_PARAM);
    EXPECT_OK(acltdtDequeueData(queue, found, sizeof found, &size, area, sizeof area, 0));
    int same = size == sizeof found;
    for (size_t i = 0; i < sizeof found; i++) {
        same = same && found[i] == 'd';
    }
    for (size_t i = 0; i < sizeof area; i++) {
        same = same && area[i] == (i < 5 ? 'u' : 0);
    }
    EXPECT_TRUE(same, "data and user data as they were");
    EXPECT_FAILS(acltdtEnqueueData(queue, data, sizeof data, user, sizeof user + 1, 0, 0));
    EXPECT_CODE(acltdtEnqueueData(queue, (void *)16, 8, NULL, 0, 0, 0), ACL_ERROR_INVALID_PARAM);
    EXPECT_CODE(acltdtEnqueueData(queue, NULL, 8, NULL, 0, 0, 0), ACL_ERROR_INVALID_PARAM);
    EXPECT_CODE(acltdtEnqueueData(queue, data, 0, NULL, 0, 0, 0), ACL_ERROR_INVALID_PARAM);
    EXPECT_CODE(take(queue, (int *)found, 0), ACL_ERROR_RT_QUEUE_EMPTY);
    EXPECT_OK(acltdtDestroyQueue(queue));
}

static uint32_t shared;

static void *send_numbers(void *argument)
{
    (void)argument;
    for (int i = 0; i < 200; i++) {
        EXPECT_OK(put(shared, i, -1));
    }
    return NULL;
}

static struct flag waiting = FLAG_INITIALIZER;

static void *wait_for_end(void *argument)
{
    int value;
    flag_set(&waiting, 1);
    EXPECT_CODE(take(*(uint32_t *)argument, &value, -1), ACL_ERROR_INVALID_QUEUE_ID);
    return NULL;
}

static void threads(void)
{
    shared = new_queue(3);
    pthread_t thread;
    REQUIRE_TRUE(pthread_create(&thread, NULL, send_numbers, NULL) == 0, "pthread_create");
    for (int i = 0; i < 200; i++) {
        int value = -1;
        EXPECT_OK(take(shared, &value, -1));
        EXPECT_TRUE(value == i, "number %d, not %d", i, value);
    }
    pthread_join(thread, NULL);
    /* A queue that ends wakes the threads that wait for it. */
    REQUIRE_TRUE(pthread_create(&thread, NULL, wait_for_end, &shared) == 0, "pthread_create");
    flag_await(&waiting, 1);
    EXPECT_OK(acltdtDestroyQueue(shared));
    pthread_join(thread, NULL);
}

int main(void)
{
    settings();
    order_and_limits();
    copies_and_user_data();
    threads();
    return finish();
}
