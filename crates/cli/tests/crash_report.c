/* Changes a source in flight, waits, so that this is proven, and ends in the way that its argument says. */
#include "runtime.h"
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *end = argv[argc - 1];
    begin();
    copy(device, host, PAGE, HOST_TO_DEVICE);
    if (strcmp(end, "nothing proven") == 0) {
        _exit(3);
    }
    host[5] = 2;
    synchronize();
    if (strcmp(end, "abort") == 0) {
        abort();
    } else if (strcmp(end, "crash") == 0) {
        *(volatile int *)8 = 1;
    } else if (strcmp(end, "term") == 0) {
        raise(SIGTERM);
    } else if (strcmp(end, "_exit") == 0) {
        _exit(3);
    } else if (strcmp(end, "quick_exit") == 0) {
        quick_exit(3);
    } else if (strcmp(end, "interrupted") == 0) {
        be_interrupted();
    } else if (strcmp(end, "children") == 0) {
        /* Their ends are not ours. */
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
