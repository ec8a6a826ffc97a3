// softacl-only
/* Routes between queues: what enters the source moves to every target that has room. */
#include "../expect.h"

#include "acl/acl_tdt_queue.h"

static uint32_t new_queue(uint32_t depth)
{
    acltdtQueueAttr *attr = acltdtCreateQueueAttr();
    uint32_t queue = 0;
    REQUIRE_OK(acltdtSetQueueAttr(attr, 0, sizeof depth, &depth));
    REQUIRE_OK(acltdtCreateQueue(attr, &queue));
    EXPECT_OK(acltdtDestroyQueueAttr(attr));
    return queue;
}

static void put(uint32_t queue, int value)
{
    EXPECT_OK(acltdtEnqueueData(queue, &value, sizeof value, NULL, 0, 0, 0));
}

/* Returns the next number, or -1 if the queue is empty. */
static int take(uint32_t queue)
{
    int value = 0;
    size_t size = 0;
    aclError code = acltdtDequeueData(queue, &value, sizeof value, &size, NULL, 0, 0);
    EXPECT_TRUE(code == ACL_SUCCESS || code == ACL_ERROR_RT_QUEUE_EMPTY, "code %d", code);
    return code == ACL_SUCCESS ? value : -1;
}

static acltdtQueueRouteList *list_of(const uint32_t (*routes)[2], size_t count)
{
    acltdtQueueRouteList *list = acltdtCreateQueueRouteList();
    REQUIRE_TRUE(list != NULL, "list");
    for (size_t i = 0; i < count; i++) {
        acltdtQueueRoute *route = acltdtCreateQueueRoute(routes[i][0], routes[i][1]);
        REQUIRE_TRUE(route != NULL, "route");
        EXPECT_OK(acltdtAddQueueRoute(list, route));
        EXPECT_OK(acltdtDestroyQueueRoute(route));
    }
    EXPECT_TRUE(acltdtGetQueueRouteNum(list) == count, "number of routes");
    return list;
}

int main(void)
{
    uint32_t source = new_queue(4), wide = new_queue(4), narrow = new_queue(1);
    put(source, 1);
    const uint32_t both[][2] = {{source, wide}, {source, narrow}};
    acltdtQueueRouteList *routes = list_of(both, 2);
    EXPECT_TRUE(take(wide) == -1, "no route is active yet");
    EXPECT_OK(acltdtBindQueueRoutes(routes));
    put(source, 2);
    EXPECT_TRUE(take(wide) == 1 && take(wide) == -1, "2 waits until both targets have room");
    EXPECT_TRUE(take(narrow) == 1 && take(narrow) == 2 && take(wide) == 2, "both targets get everything");
    EXPECT_TRUE(take(source) == -1, "nothing is left");

    /* A query lists what is active. */
    acltdtQueueRouteQueryInfo *query = acltdtCreateQueueRouteQueryInfo();
    acltdtQueueRouteList *found = acltdtCreateQueueRouteList();
    EXPECT_OK(acltdtQueryQueueRoutes(query, found));
    EXPECT_TRUE(acltdtGetQueueRouteNum(found) == 2, "two routes are active");
    acltdtQueueRoute *route = acltdtCreateQueueRoute(0, 0);
    EXPECT_OK(acltdtGetQueueRoute(found, 1, route));
    EXPECT_CODE(acltdtGetQueueRoute(found, 2, route), ACL_ERROR_INVALID_PARAM);

    /* The copied route can be used like any other: as a list of one, it is unbound. */
    acltdtQueueRouteList *one = acltdtCreateQueueRouteList();
    EXPECT_OK(acltdtAddQueueRoute(one, route));
    EXPECT_OK(acltdtUnbindQueueRoutes(one));
    EXPECT_FAILS(acltdtUnbindQueueRoutes(one));
    EXPECT_OK(acltdtQueryQueueRoutes(query, found));
    EXPECT_TRUE(acltdtGetQueueRouteNum(found) == 1, "one route is active");
    EXPECT_OK(acltdtBindQueueRoutes(one));

    /* Refused: a circle, a queue that does not exist, the end of a queue in use. */
    const uint32_t circle[][2] = {{narrow, source}};
    const uint32_t missing[][2] = {{narrow, wide}, {source, 0xffffffff}};
    acltdtQueueRouteList *closing = list_of(circle, 1), *dangling = list_of(missing, 2);
    EXPECT_FAILS(acltdtBindQueueRoutes(closing));
    EXPECT_CODE(acltdtBindQueueRoutes(dangling), ACL_ERROR_INVALID_QUEUE_ID);
    EXPECT_FAILS(acltdtDestroyQueue(wide));
    EXPECT_OK(acltdtQueryQueueRoutes(query, found));
    EXPECT_TRUE(acltdtGetQueueRouteNum(found) == 2, "a refused list binds nothing");
    EXPECT_OK(acltdtUnbindQueueRoutes(routes));
    put(source, 3);
    EXPECT_TRUE(take(wide) == -1 && take(source) == 3, "no route is active any more");

    /* Objects of the wrong kind, destroyed ones and NULL. */
    EXPECT_CODE(acltdtAddQueueRoute((acltdtQueueRouteList *)route, route), ACL_ERROR_INVALID_PARAM);
    EXPECT_CODE(acltdtBindQueueRoutes(NULL), ACL_ERROR_INVALID_PARAM);
    EXPECT_CODE(acltdtQueryQueueRoutes(NULL, found), ACL_ERROR_INVALID_PARAM);
    EXPECT_OK(acltdtDestroyQueueRoute(route));
    EXPECT_CODE(acltdtDestroyQueueRoute(route), ACL_ERROR_INVALID_PARAM);
    EXPECT_CODE(acltdtAddQueueRoute(found, route), ACL_ERROR_INVALID_PARAM);
    EXPECT_TRUE(acltdtGetQueueRouteNum(NULL) == 0, "no list has no routes");
    EXPECT_OK(acltdtDestroyQueueRouteQueryInfo(query));
    acltdtQueueRouteList *lists[] = {routes, found, one, closing, dangling};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        EXPECT_OK(acltdtDestroyQueueRouteList(lists[i]));
    }
    uint32_t queues[] = {source, wide, narrow};
    for (size_t i = 0; i < 3; i++) {
        EXPECT_OK(acltdtDestroyQueue(queues[i]));
    }
    return finish();
}
