// soc: all
// expects: R1
// sanitize: none (the limits take many objects)
/* The numbers of streams and events that can still be created shrink and grow with those that exist. */
#include "../expect.h"

static void *ask_without_context(void *unused)
{
    uint32_t count = 0;
    (void)unused;
    EXPECT_CODE(aclrtGetStreamAvailableNum(&count), 107002);
    EXPECT_CODE(aclrtGetEventAvailNum(&count), 107002);
    return NULL;
}

static uint32_t streams_left(void)
{
    uint32_t count = 0;
    EXPECT_OK(aclrtGetStreamAvailableNum(&count));
    return count;
}

static uint32_t events_left(void)
{
    uint32_t count = 0;
    EXPECT_OK(aclrtGetEventAvailNum(&count));
    return count;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    in_new_thread(ask_without_context, NULL);
    EXPECT_CODE(aclrtGetStreamAvailableNum(NULL), 100000);
    EXPECT_CODE(aclrtGetEventAvailNum(NULL), 100000);
    uint32_t streams = streams_left(), events = events_left();
    EXPECT_TRUE(streams > 2 && events > 2, "%u %u", streams, events);
    aclrtStream stream = new_stream(), other = new_stream();
    aclrtEvent event = NULL;
    REQUIRE_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC)); /* only some events take a resource (4.5) */
    EXPECT_TRUE(streams_left() == streams - 2, "%u of %u", streams_left(), streams);
    EXPECT_TRUE(events_left() == events - 1, "%u of %u", events_left(), events);
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_TRUE(streams_left() == streams - 1, "%u of %u", streams_left(), streams);

    /* The number is what really can be created. */
    uint32_t created = 0, left = streams_left();
    aclrtStream *all = (aclrtStream *)calloc(left, sizeof *all);
    REQUIRE_TRUE(all != NULL, "calloc");
    while (created < left && aclrtCreateStream(&all[created]) == 0) {
        created++;
    }
    EXPECT_TRUE(created == left && streams_left() == 0, "%u of %u, %u left", created, left, streams_left());
    EXPECT_FAILS(aclrtCreateStream(&other));
    while (created > 0) {
        EXPECT_OK(aclrtDestroyStream(all[--created]));
    }
    free(all);
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_TRUE(streams_left() == streams && events_left() == events, "%u %u", streams_left(), events_left());
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
