/* Changes a source in flight, waits, so that this is proven, and ends in the way that its argument says. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *library;

static void *function(const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(90);
    }
    return found;
}

#define CALL(name, types, ...)                                                                                 \
    do {                                                                                                       \
        int code = ((int(*) types)function(#name))(__VA_ARGS__);                                               \
        if (code != 0) {                                                                                       \
            fprintf(stderr, #name " gave %d\n", code);                                                         \
            exit(91);                                                                                          \
        }                                                                                                      \
    } while (0)

int main(int argc, char **argv)
{
    const char *end = argv[argc - 1];
    library = dlopen("libascendcl.so", RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 92;
    }
    void *stream, *device;
    char *host;
    CALL(aclrtSetDevice, (int), 0);
    CALL(aclrtCreateStream, (void **), &stream);
    CALL(aclrtMalloc, (void **, size_t, int), &device, 4096, 0);
    CALL(aclrtMallocHost, (void **, size_t), (void **)&host, 4096);
    memset(host, 1, 4096);
    CALL(aclrtMemcpyAsync, (void *, size_t, const void *, size_t, int, void *), device, 4096, host, 4096, 1, stream);
    if (strcmp(end, "nothing proven") == 0) {
        _exit(3);
    }
    host[5] = 2;
    CALL(aclrtSynchronizeStream, (void *), stream);
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
