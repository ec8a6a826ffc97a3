/* What a timeline has to show: two streams, of which one waits for the other, every kind of copy, a call that fails, a
   copy that blocks, a thread, a process. */
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

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "nothing") == 0) {
        return 4;
    }
    if (argc > 1 && strcmp(argv[1], "parent") == 0) {
        /* A child with a runtime of its own, before there is one here. */
        pid_t child = fork();
        if (child == 0) {
            execl(argv[0], argv[0], "child", (char *)NULL);
            _exit(92);
        }
        waitpid(child, NULL, 0);
    }
    begin();
    if (argc > 1 && strcmp(argv[1], "_exit") == 0) {
        _exit(5);
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
    /* Memory of malloc: the call waits for all that is queued. */
    char *pageable = malloc(PAGE);
    memset(pageable, 1, PAGE);
    CALL(aclrtMemcpyAsync, (void *, size_t, const void *, size_t, int, void *), large, SIZE, pinned, SIZE,
         HOST_TO_DEVICE, stream);
    CALL(aclrtMemcpyAsync, (void *, size_t, const void *, size_t, int, void *), device, PAGE, pageable, PAGE,
         HOST_TO_DEVICE, stream);
    synchronize();
    CALL(aclrtMemcpy, (void *, size_t, const void *, size_t, int), pageable, PAGE, device, PAGE, DEVICE_TO_HOST);
    /* Refused: more than there is room for. */
    int code = ((int (*)(void *, size_t, const void *, size_t, int, void *))function("aclrtMemcpyAsync"))(
        device, 1, host, 2, HOST_TO_DEVICE, stream);
    pthread_t thread;
    pthread_create(&thread, NULL, copy_from_a_thread, NULL);
    pthread_join(thread, NULL);
    free(pageable);
    CALL(aclrtFree, (void *), large);
    CALL(aclrtFreeHost, (void *), pinned);
    CALL(aclrtDestroyEvent, (void *), event);
    CALL(aclrtDestroyStream, (void *), other);
    finish();
    return code == 0 ? 93 : 3;
}
