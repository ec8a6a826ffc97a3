/*
 * A process records an event that another process waits for on a stream. What the event stands for
 * takes a while: the stream waits for a start signal first.
 *
 * buggy.c destroys the event when the other process has queued its wait.
 * fixed.c destroys it when the wait of the other process has ended.
 */
#include "../zoo.h"

#include <sys/wait.h>
#include <unistd.h>

/* Sends a byte string to the other process, or receives one. */
static void put(int file, const void *bytes, size_t size)
{
    if (write(file, bytes, size) != (ssize_t)size) {
        exit(1);
    }
}

static void get(int file, void *bytes, size_t size)
{
    if (read(file, bytes, size) != (ssize_t)size) {
        exit(1);
    }
}

static int consumer(int from, int to)
{
    aclrtIpcEventHandle handle;
    aclrtEvent loaded;
    aclrtStream stream;
    get(from, &handle, sizeof handle);
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtIpcOpenEventHandle(handle, &loaded));
    OK(aclrtStreamWaitEvent(stream, loaded));
    put(to, "w", 1);
    OK(aclrtSynchronizeStream(stream));
    put(to, "d", 1);
    OK(aclrtDestroyEvent(loaded));
    OK(aclrtDestroyStream(stream));
    end();
    return 0;
}

int main(void)
{
    int down[2], up[2], status;
    char word;
    aclrtIpcEventHandle handle;
    aclrtEvent loaded;
    aclrtStream producer, starter;
    aclrtNotify start;
    if (pipe(down) != 0 || pipe(up) != 0) {
        return 1;
    }
    pid_t child = fork();
    if (child == 0) {
        return consumer(down[0], up[1]);
    }
    begin();
    OK(aclrtCreateStream(&producer));
    OK(aclrtCreateStream(&starter));
    OK(aclrtCreateNotify(&start, 0));
    OK(aclrtCreateEventExWithFlag(&loaded, ACL_EVENT_IPC));
    OK(aclrtWaitAndResetNotify(start, producer, 0));
    OK(aclrtRecordEvent(loaded, producer));
    OK(aclrtIpcGetEventHandle(loaded, &handle));
    put(down[1], &handle, sizeof handle);
    get(up[0], &word, 1);
    OK(aclrtRecordNotify(start, starter));
    OK(aclrtSynchronizeStream(starter));
    OK(aclrtSynchronizeStream(producer));
    get(up[0], &word, 1);
    OK(aclrtDestroyEvent(loaded));
    OK(aclrtDestroyNotify(start));
    OK(aclrtDestroyStream(starter));
    OK(aclrtDestroyStream(producer));
    end();
    waitpid(child, &status, 0);
    return verdict(status != 0, 1, "consumers");
}
