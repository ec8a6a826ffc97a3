/* Everything that a timeline shows: two streams, one of which waits for the other, every kind of copy, a failing
   call, a blocking copy, a thread, a process. */
#include "runtime.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COPIES = 5, SIZE = 1 << 20 };

static void *copy_from_a_thread(void *unused)
{
    (void)unused;
    CALL(aclrtSetDevice, (int), 0);
    copy(device, host, PAGE, HOST_TO_DEVICE);
    synchronize();
    return NULL;
}

/* A stream waits for a notify that is never recorded, and the program exits. */
static int exit_while_waiting(void)
{
    void *notify = NULL;
    CALL(aclrtCreateNotify, (void **, unsigned long), &notify, 0);
    copy(device, host, PAGE, HOST_TO_DEVICE);
    synchronize();
    CALL(aclrtWaitAndResetNotify, (void *, void *, unsigned), notify, stream, 0);
    copy(device, host, PAGE, HOST_TO_DEVICE);
    return ((int (*)(void *, int))function("aclrtSynchronizeStreamWithTimeout"))(stream, 20) == 0 ? 94 : 6;
}

/* A stream waits for a notify that another stream records. */
static int record_notify(void)
{
    void *notify = NULL, *other = NULL;
    CALL(aclrtCreateNotify, (void **, unsigned long), &notify, 0);
    CALL(aclrtCreateStream, (void **), &other);
    CALL(aclrtWaitAndResetNotify, (void *, void *, unsigned), notify, other, 0);
    CALL(aclrtRecordNotify, (void *, void *), notify, stream);
    CALL(aclrtSynchronizeStream, (void *), other);
    return 8;
}

/* Work before, in and after a range. */
static int mark_a_range(void)
{
    copy(device, host, PAGE, HOST_TO_DEVICE);
    synchronize();
    if (((int (*)(const char *))function("softaclTraceRangeBegin"))("step 1") != 0)
        return 93;
    copy(device, host, PAGE, HOST_TO_DEVICE);
    synchronize();
    int (*end)(void) = (int (*)(void))function("softaclTraceRangeEnd");
    if (end() != 0 || end() != 100000)
        return 93;
    copy(device, host, PAGE, HOST_TO_DEVICE);
    synchronize();
    return 9;
}

/* A stream of one device gets the id that a stream of another device had. */
static int change_devices(void)
{
    finish();
    for (int i = 0; i < 4; i++) {
        CALL(aclrtSetDevice, (int), i % 2);
        CALL(aclrtCreateStream, (void **), &stream);
        CALL(aclrtMalloc, (void **, size_t, int), &device, PAGE, 0);
        CALL(aclrtMallocHost, (void **, size_t), (void **)&host, PAGE);
        copy(device, host, PAGE, HOST_TO_DEVICE);
        synchronize();
        CALL(aclrtFree, (void *), device);
        CALL(aclrtFreeHost, (void *), host);
        CALL(aclrtDestroyStream, (void *), stream);
    }
    return 7;
}

/* Makes the last calls after the thread-local storage of the thread is gone. */
static void clean_up(void *unused)
{
    (void)unused;
    CALL(aclrtResetDevice, (int), 0);
}

static void *end_late(void *key)
{
    CALL(aclrtSetDevice, (int), 0);
    pthread_setspecific(*(pthread_key_t *)key, key);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "nothing") == 0) {
        return 4;
    }
    if (argc > 1 && strcmp(argv[1], "parent") == 0) {
        /* A child with a separate runtime, before this process has one. */
        pid_t child = fork();
        if (child == 0) {
            execl(argv[0], argv[0], "child", (char *)NULL);
            _exit(92);
        }
        waitpid(child, NULL, 0);
    }
    CALL(aclInit, (const char *), NULL);
    begin();
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "_exit") == 0) {
        _exit(5);
    } else if (strcmp(mode, "killed") == 0) {
        kill(getpid(), SIGKILL);
    } else if (strcmp(mode, "interrupted") == 0) {
        be_interrupted();
    } else if (strcmp(mode, "exits while waiting") == 0) {
        return exit_while_waiting();
    } else if (strcmp(mode, "notify") == 0) {
        return record_notify();
    } else if (strcmp(mode, "ranges") == 0) {
        return mark_a_range();
    } else if (strcmp(mode, "devices") == 0) {
        return change_devices();
    }
    void *other = NULL, *event = NULL, *large = NULL, *pinned = NULL;
    CALL(aclrtCreateStream, (void **), &other);
    CALL(aclrtCreateEvent, (void **), &event);
    CALL(aclrtMalloc, (void **, size_t, int), &large, SIZE, 0);
    CALL(aclrtMallocHost, (void **, size_t), &pinned, SIZE);
    memset(pinned, 7, SIZE);
    for (int i = 0; i < COPIES; i++) {
        CALL(aclrtMemcpyAsync, (void *, size_t, const void *, size_t, int, void *), large, SIZE, pinned, SIZE,
             HOST_TO_DEVICE, stream);
    }
    CALL(aclrtRecordEvent, (void *, void *), event, stream);
    CALL(aclrtStreamWaitEvent, (void *, void *), other, event);
    CALL(aclrtMemcpyAsync, (void *, size_t, const void *, size_t, int, void *), pinned, SIZE, large, SIZE,
         DEVICE_TO_HOST, other);
    CALL(aclrtSynchronizeStream, (void *), other);
    /* Pageable memory: the call waits for everything that is queued. */
    char *pageable = malloc(PAGE);
    memset(pageable, 1, PAGE);
    CALL(aclrtMemcpyAsync, (void *, size_t, const void *, size_t, int, void *), large, SIZE, pinned, SIZE,
         HOST_TO_DEVICE, stream);
    CALL(aclrtMemcpyAsync, (void *, size_t, const void *, size_t, int, void *), device, PAGE, pageable, PAGE,
         HOST_TO_DEVICE, stream);
    synchronize();
    CALL(aclrtMemcpy, (void *, size_t, const void *, size_t, int), pageable, PAGE, device, PAGE, DEVICE_TO_HOST);
    /* Rejected: the copy exceeds the destination. */
    int code = ((int (*)(void *, size_t, const void *, size_t, int, void *))function("aclrtMemcpyAsync"))(
        device, 1, host, 2, HOST_TO_DEVICE, stream);
    /* Fails during the copy: the source is not mapped. */
    code |= ((int (*)(void *, size_t, const void *, size_t, int))function("aclrtMemcpy"))(
                device, PAGE, (void *)16, PAGE, HOST_TO_DEVICE) == 0
                ? 1
                : 0;
    pthread_t thread;
    pthread_create(&thread, NULL, copy_from_a_thread, NULL);
    pthread_join(thread, NULL);
    pthread_key_t key;
    pthread_key_create(&key, clean_up);
    pthread_create(&thread, NULL, end_late, &key);
    pthread_join(thread, NULL);
    free(pageable);
    CALL(aclrtFree, (void *), large);
    CALL(aclrtFreeHost, (void *), pinned);
    CALL(aclrtDestroyEvent, (void *), event);
    CALL(aclrtDestroyStream, (void *), other);
    finish();
    CALL(aclFinalize, (void));
    return code == 0 ? 93 : 3;
}
