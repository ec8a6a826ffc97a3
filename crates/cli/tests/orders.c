/* Programs with known numbers of orders, by name. */
#include "runtime.h"

#include <unistd.h>

enum { SMALL = 64, EVENT_COMPLETE = 1, STREAM_PERSISTENT = 4 };

static void *streams[3], *events[3];

static void fill(int at, int value, int on)
{
    CALL(aclrtMemsetAsync, (void *, size_t, int, size_t, void *), (char *)device + at, SMALL, value, SMALL, streams[on]);
}

static void record(int event, int on)
{
    CALL(aclrtRecordEvent, (void *, void *), events[event], streams[on]);
}

static void wait_event(int event, int on)
{
    CALL(aclrtStreamWaitEvent, (void *, void *), streams[on], events[event]);
}

static void wait_all(void)
{
    for (int i = 0; i < 3; i++) {
        CALL(aclrtSynchronizeStream, (void *), streams[i]);
    }
}

static int is_complete(int event)
{
    int status = 0;
    CALL(aclrtQueryEventStatus, (void *, int *), events[event], &status);
    return status == EVENT_COMPLETE;
}

static int byte_at(int at)
{
    CALL(aclrtMemcpy, (void *, size_t, const void *, size_t, int), host, SMALL, (char *)device + at, SMALL,
         DEVICE_TO_HOST);
    return host[0];
}

/* Captures two branches that write the same bytes, and runs the graph. */
static void run_captured(int is_ordered)
{
    void *graph;
    CALL(aclmdlRICaptureBegin, (void *, int), streams[0], 1);
    record(0, 0);
    wait_event(0, 1);
    fill(0, 1, 0);
    if (is_ordered) {
        record(2, 0);
        wait_event(2, 1);
    }
    fill(0, 2, 1);
    record(1, 1);
    wait_event(1, 0);
    CALL(aclmdlRICaptureEnd, (void *, void **), streams[0], &graph);
    CALL(aclmdlRIExecuteAsync, (void *, void *), graph, streams[2]);
    wait_all();
    CALL(aclmdlRIDestroy, (void *), graph);
}

/* The same with a graph that is built stream by stream. */
static void run_built(void)
{
    void *graph, *bound[2];
    CALL(aclmdlRIBuildBegin, (void **, unsigned), &graph, 0);
    for (int i = 0; i < 2; i++) {
        CALL(aclrtCreateStreamWithConfig, (void **, unsigned, unsigned), &bound[i], 0, STREAM_PERSISTENT);
        CALL(aclmdlRIBindStream, (void *, void *, unsigned), graph, bound[i], 0);
    }
    CALL(aclrtMemsetAsync, (void *, size_t, int, size_t, void *), device, SMALL, 1, SMALL, bound[0]);
    CALL(aclrtMemsetAsync, (void *, size_t, int, size_t, void *), device, SMALL, 2, SMALL, bound[1]);
    CALL(aclrtRecordEvent, (void *, void *), events[0], bound[1]);
    CALL(aclrtStreamWaitEvent, (void *, void *), bound[0], events[0]);
    CALL(aclmdlRIEndTask, (void *, void *), graph, bound[0]);
    CALL(aclmdlRIBuildEnd, (void *, void *), graph, NULL);
    CALL(aclmdlRIExecuteAsync, (void *, void *), graph, streams[2]);
    wait_all();
    for (int i = 0; i < 2; i++) {
        CALL(aclmdlRIUnbindStream, (void *, void *), graph, bound[i]);
        CALL(aclrtDestroyStream, (void *), bound[i]);
    }
    CALL(aclmdlRIDestroy, (void *), graph);
}

/* Runs this program again, in the given mode, and waits for it. */
static int run_child(const char *program, const char *mode)
{
    char command[PAGE];
    snprintf(command, sizeof command, "'%s' '%s'", program, mode);
    return system(command) != 0;
}

static int flag;

static void set_flag(void *argument)
{
    (void)argument;
    flag = 1;
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "";
    int result = 0;
    begin();
    for (int i = 0; i < 3; i++) {
        CALL(aclrtCreateStream, (void **), &streams[i]);
        CALL(aclrtCreateEvent, (void **), &events[i]);
    }
    if (strcmp(mode, "independent") == 0) {
        for (int i = 0; i < 9; i++) {
            fill(SMALL * i, i, i % 3);
        }
        wait_all();
    } else if (strcmp(mode, "conflict") == 0) {
        fill(0, 1, 0);
        fill(0, 2, 1);
        wait_all();
        result = byte_at(0) == 1;
    } else if (strcmp(mode, "ordered") == 0) {
        fill(0, 1, 0);
        record(0, 0);
        wait_event(0, 1);
        fill(0, 2, 1);
        wait_all();
        result = byte_at(0) == 1;
    } else if (strcmp(mode, "three") == 0) {
        fill(0, 1, 0);
        fill(0, 2, 1);
        fill(0, 3, 2);
        wait_all();
    } else if (strcmp(mode, "poll") == 0) {
        fill(0, 1, 0);
        record(0, 0);
        while (!is_complete(0)) {
        }
        wait_all();
    } else if (strcmp(mode, "poll once") == 0) {
        fill(0, 1, 0);
        record(0, 0);
        printf("%s\n", is_complete(0) ? "complete" : "pending");
        wait_all();
    } else if (strcmp(mode, "pinned") == 0) {
        /* Copies from and to pinned memory that the host leaves alone. */
        CALL(aclrtMemcpyAsync, (void *, size_t, const void *, size_t, int, void *), device, SMALL, host, SMALL,
             HOST_TO_DEVICE, streams[0]);
        CALL(aclrtMemcpyAsync, (void *, size_t, const void *, size_t, int, void *), host + SMALL, SMALL,
             (char *)device + 2 * SMALL, SMALL, DEVICE_TO_HOST, streams[1]);
        wait_all();
    } else if (strcmp(mode, "early read") == 0) {
        CALL(aclrtMemsetAsync, (void *, size_t, int, size_t, void *), device, SMALL, 7, SMALL, streams[0]);
        CALL(aclrtMemcpyAsync, (void *, size_t, const void *, size_t, int, void *), host, SMALL, device, SMALL,
             DEVICE_TO_HOST, streams[0]);
        result = host[0] != 7;
        wait_all();
    } else if (strcmp(mode, "function") == 0) {
        CALL(aclrtLaunchHostFunc, (void *, void (*)(void *), void *), streams[0], set_flag, NULL);
        result = flag == 0;
        wait_all();
    } else if (strcmp(mode, "notify") == 0) {
        void *notify;
        CALL(aclrtCreateNotify, (void **, unsigned long), &notify, 0);
        CALL(aclrtWaitAndResetNotify, (void *, void *, unsigned), notify, streams[1], 0);
        fill(0, 2, 1);
        fill(0, 1, 0);
        CALL(aclrtRecordNotify, (void *, void *), notify, streams[0]);
        wait_all();
        result = byte_at(0) != 2;
        CALL(aclrtDestroyNotify, (void *), notify);
    } else if (strcmp(mode, "value") == 0) {
        CALL(aclrtMemset, (void *, size_t, int, size_t), device, PAGE, 0, PAGE);
        CALL(aclrtValueWait, (void *, unsigned long, unsigned, void *), (char *)device + 8 * SMALL, 1, 0, streams[1]);
        fill(0, 2, 1);
        fill(0, 1, 0);
        CALL(aclrtValueWrite, (void *, unsigned long, unsigned, void *), (char *)device + 8 * SMALL, 1, 0, streams[0]);
        wait_all();
        result = byte_at(0) != 2;
    } else if (strcmp(mode, "rare") == 0) {
        /* Three streams, four conflicting writes each: wrong only if the last write of stream 0 is the last of all. */
        for (int i = 0; i < 3; i++) {
            fill(0, 10 + i, 0);
            fill(0, 20 + i, 1);
        }
        fill(0, 30, 2);
        wait_all();
        result = byte_at(0) == 12;
    } else if (strcmp(mode, "captured") == 0) {
        run_captured(0);
        result = byte_at(0) == 1;
    } else if (strcmp(mode, "captured and ordered") == 0) {
        run_captured(1);
        result = byte_at(0) == 1;
    } else if (strcmp(mode, "built") == 0) {
        run_built();
        result = byte_at(0) == 1;
    } else if (strcmp(mode, "processes") == 0) {
        fill(0, 1, 0);
        fill(0, 2, 1);
        wait_all();
        result = run_child(arguments[0], "conflict");
    } else if (strcmp(mode, "abort") == 0) {
        fill(0, 1, 0);
        fill(0, 2, 1);
        wait_all();
        if (byte_at(0) == 1) {
            abort();
        }
    } else {
        return 99;
    }
    for (int i = 0; i < 3; i++) {
        CALL(aclrtDestroyEvent, (void *), events[i]);
        CALL(aclrtDestroyStream, (void *), streams[i]);
    }
    finish();
    return result;
}
