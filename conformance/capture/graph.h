/* What the capture programs share. */
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

/* `to` comes after everything that `from` has so far. */
static inline void follow(aclrtStream to, aclrtStream from, aclrtEvent event)
{
    EXPECT_OK(aclrtRecordEvent(event, from));
    EXPECT_OK(aclrtStreamWaitEvent(to, event));
}

#endif
