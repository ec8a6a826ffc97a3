/* Helpers of the capture programs. */
#ifndef CONFORMANCE_CAPTURE_GRAPH_H
#define CONFORMANCE_CAPTURE_GRAPH_H

static inline int capture_status(aclrtStream stream)
{
    aclmdlRICaptureStatus status = (aclmdlRICaptureStatus)-1;
    aclmdlRI graph = NULL;
    EXPECT_OK(aclmdlRICaptureGetInfo(stream, &status, &graph));
    return (int)status;
}

static inline aclrtEvent new_event(void)
{
    aclrtEvent event = NULL;
    REQUIRE_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    return event;
}

/* Orders later tasks of `waiting` after all tasks queued so far on `recorded`. */
static inline void order_after(aclrtStream waiting, aclrtStream recorded, aclrtEvent event)
{
    EXPECT_OK(aclrtRecordEvent(event, recorded));
    EXPECT_OK(aclrtStreamWaitEvent(waiting, event));
}

#endif
