/* Base of programs that load the library at run time, so that the tests need no headers: a stream, and a page of device
   and host memory. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { PAGE = 4096, HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2 };

static void *stream, *device;
static char *host;

static inline void *function(const char *name)
{
    static void *library;
    if (library == NULL) {
        library = dlopen("libascendcl.so", RTLD_NOW);
    }
    void *found = library == NULL ? NULL : dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(90);
    }
    return found;
}

#define CALL(name, types, ...)                                                                                         \
    do {                                                                                                               \
        int code = ((int(*) types)function(#name))(__VA_ARGS__);                                                       \
        if (code != 0) {                                                                                               \
            fprintf(stderr, #name " returned %d\n", code);                                                             \
            exit(91);                                                                                                  \
        }                                                                                                              \
    } while (0)

static inline void begin(void)
{
    CALL(aclrtSetDevice, (int), 0);
    CALL(aclrtCreateStream, (void **), &stream);
    CALL(aclrtMalloc, (void **, size_t, int), &device, PAGE, 0);
    CALL(aclrtMallocHost, (void **, size_t), (void **)&host, PAGE);
    CALL(aclrtMemset, (void *, size_t, int, size_t), device, PAGE, 1, PAGE);
    memset(host, 1, PAGE);
}

static inline void copy(void *to, const void *from, size_t size, int kind)
{
    CALL(aclrtMemcpyAsync, (void *, size_t, const void *, size_t, int, void *), to, size, from, size, kind, stream);
}

static inline void synchronize(void)
{
    CALL(aclrtSynchronizeStream, (void *), stream);
}

static inline int finish(void)
{
    CALL(aclrtFreeHost, (void *), host);
    CALL(aclrtFree, (void *), device);
    CALL(aclrtDestroyStream, (void *), stream);
    CALL(aclrtResetDevice, (int), 0);
    return 0;
}

static volatile sig_atomic_t has_called;

static inline void exit_on_signal(int signal)
{
    (void)signal;
    if (has_called) {
        exit(9);
    }
}

/* Exits from a signal handler that interrupts the library at an arbitrary point. */
static inline void be_interrupted(void)
{
    struct itimerval soon = {{0, 3000}, {0, 3000}};
    /* Look the function up first: the loader must not be interrupted. */
    int (*get_device_count)(unsigned *) = (int (*)(unsigned *))function("aclrtGetDeviceCount");
    signal(SIGALRM, exit_on_signal);
    setitimer(ITIMER_REAL, &soon, NULL);
    for (unsigned count; get_device_count(&count) == 0;) {
        has_called = 1;
    }
}
