/* Changes the source of a copy in flight, waits, so that this is proven, and ends as its argument selects. */
#include "runtime.h"
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *mode = argv[argc - 1];
    begin();
    copy(device, host, PAGE, HOST_TO_DEVICE);
    if (strcmp(mode, "nothing proven") == 0) {
        _exit(3);
    }
    host[5] = 2;
    synchronize();
    if (strcmp(mode, "abort") == 0) {
        abort();
    } else if (strcmp(mode, "crash") == 0) {
        *(volatile int *)8 = 1;
    } else if (strcmp(mode, "term") == 0) {
        raise(SIGTERM);
    } else if (strcmp(mode, "_exit") == 0) {
        _exit(3);
    } else if (strcmp(mode, "quick_exit") == 0) {
        quick_exit(3);
    } else if (strcmp(mode, "interrupted") == 0) {
        be_interrupted();
    } else if (strcmp(mode, "children") == 0) {
        /* The exits of children must not end the parent's report. */
        pid_t child = vfork();
        if (child == 0) {
            _exit(0);
        }
        waitpid(child, NULL, 0);
        child = fork();
        if (child == 0) {
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    return 3;
}
