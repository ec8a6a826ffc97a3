/* Takes the place of the checker: records what the interposer reports, and prints missing or wrong reports. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static const void *seen;
static size_t seen_size;
static int seen_write;
/* What the call has used of the first access that ended. SIZE_MAX if it is unknown. */
static size_t used;
static int has_ended;
static char seen_name[64];
static int failed;

static void record_access(const void *start, size_t size, int is_write, const char *function)
{
    seen = start;
    seen_size = size;
    seen_write = is_write;
    snprintf(seen_name, sizeof seen_name, "%s", function);
}

static void record_end(const void *start, size_t done)
{
    if (!has_ended && start == seen) {
        has_ended = 1;
        used = done;
    }
}

static void record_object(const void *start, size_t size)
{
    seen = start;
    seen_size = size;
}

static void expect_report(const char *call, int succeeded, const void *start, size_t size)
{
    if (!succeeded || seen != start || seen_size != size) {
        fprintf(stderr, "%s: succeeded %d, reported %p with %zu bytes instead of %p with %zu\n", call, succeeded,
                seen, seen_size, start, size);
        failed = 1;
    }
    seen = NULL;
}

#define EXPECT_ACCESS(call, is_write)                                                                                  \
    do {                                                                                                               \
        expect_report(#call, (call) >= 0, buffer, sizeof buffer);                                                      \
        if (seen_write != (is_write) || strncmp(#call, seen_name, strlen(seen_name)) != 0) {                           \
            fprintf(stderr, #call ": reported as %s, write %d\n", seen_name, seen_write);                              \
            failed = 1;                                                                                                \
        }                                                                                                              \
    } while (0)

/* The call announces `size` bytes of the buffer and uses `done` of them. */
#define EXPECT_USED(call, code, size, done)                                                                            \
    do {                                                                                                               \
        has_ended = 0;                                                                                                 \
        int is_expected = (call) == (code);                                                                            \
        if (!is_expected || seen != buffer || seen_size != (size) || !has_ended || used != (size_t)(done)) {           \
            fprintf(stderr, #call ": expected result %d, %zu bytes announced, ended %d with %zu\n", is_expected,       \
                    seen_size, has_ended, used);                                                                       \
            failed = 1;                                                                                                \
        }                                                                                                              \
        seen = NULL;                                                                                                   \
    } while (0)

#define EXPECT_OBJECT(call, code, object)                                                                              \
    do {                                                                                                               \
        seen = NULL;                                                                                                   \
        expect_report(#call, (call) == (code), object, sizeof *(object));                                              \
    } while (0)

int main(void)
{
    void **access_hook = dlsym(RTLD_DEFAULT, "softacl_interposer_begin");
    void **end_hook = dlsym(RTLD_DEFAULT, "softacl_interposer_done");
    void **object_hook = dlsym(RTLD_DEFAULT, "softacl_interposer_object");
    uintptr_t *bounds = dlsym(RTLD_DEFAULT, "softacl_interposer_bounds");
    if (access_hook == NULL || end_hook == NULL || object_hook == NULL || bounds == NULL) {
        fprintf(stderr, "the interposer is not loaded\n");
        return 1;
    }
    static char buffer[64];
    struct iovec part = {buffer, sizeof buffer};
    FILE *keeper = tmpfile();
    if (keeper == NULL) {
        return 1;
    }
    int file = fileno(keeper);
    bounds[0] = (uintptr_t)buffer;
    bounds[1] = (uintptr_t)buffer + sizeof buffer - 1;
    *access_hook = (void *)record_access;
    EXPECT_ACCESS(pwritev(file, &part, 1, 0), 0);
    EXPECT_ACCESS(preadv(file, &part, 1, 0), 1);
    EXPECT_ACCESS(pwritev64(file, &part, 1, 0), 0);
    EXPECT_ACCESS(preadv64(file, &part, 1, 0), 1);
    EXPECT_ACCESS(pwritev2(file, &part, 1, 0, 0), 0);
    EXPECT_ACCESS(preadv2(file, &part, 1, 0, 0), 1);
    EXPECT_ACCESS(pwritev64v2(file, &part, 1, 0, 0), 0);
    EXPECT_ACCESS(preadv64v2(file, &part, 1, 0, 0), 1);
    EXPECT_ACCESS(getrandom(buffer, sizeof buffer, 0), 1);
    EXPECT_ACCESS(readlink("/proc/self/exe", buffer, sizeof buffer), 1);
    *end_hook = (void *)record_end;
    struct pollfd none = {.fd = -1};
    struct epoll_event ready = {.events = EPOLLOUT};
    int sides[2], events = epoll_create1(0);
    socklen_t length = sizeof buffer;
    size_t size;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sides) != 0 || epoll_ctl(events, EPOLL_CTL_ADD, sides[0], &ready) != 0 ||
        write(sides[1], "text", 4) != 4) {
        return 1;
    }
    EXPECT_USED(getsockopt(sides[0], SOL_SOCKET, SO_TYPE, buffer, &length), 0, sizeof buffer, sizeof(int));
    EXPECT_USED(getsockopt(-1, SOL_SOCKET, SO_TYPE, buffer, &length), -1, sizeof(int), 0);
    EXPECT_USED(setsockopt(sides[0], SOL_SOCKET, SO_SNDBUF, buffer, sizeof(int)), 0, sizeof(int), sizeof(int));
    EXPECT_USED(epoll_wait(events, (struct epoll_event *)buffer, 3, 0), 1, 3 * sizeof ready, sizeof ready);
    EXPECT_USED(ioctl(sides[0], FIONREAD, buffer), 0, sizeof(int), sizeof(int));
    EXPECT_USED(ioctl(sides[0], FIOCLEX, 0) + recv(sides[0], buffer, sizeof buffer, 0), 4, sizeof buffer, 4);
    EXPECT_USED(recv(sides[0], buffer, sizeof buffer, MSG_DONTWAIT), -1, sizeof buffer, 0);
    memcpy(buffer, &none, sizeof none);
    EXPECT_USED(poll((struct pollfd *)buffer, 1, 0), 0, sizeof none, sizeof none);
    EXPECT_USED(clock_gettime(CLOCK_MONOTONIC, (struct timespec *)buffer), 0, 16, 16);
    EXPECT_USED(clock_gettime(12345, (struct timespec *)buffer), -1, 16, 0);
    memset(buffer, 0, sizeof buffer);
    EXPECT_USED(nanosleep((struct timespec *)buffer, NULL), 0, 16, 16);
    strcpy(buffer, "/nonexistent");
    EXPECT_USED(chmod(buffer, 0600), -1, 13, 13);
    EXPECT_USED(access(buffer, R_OK), -1, 13, 13);
    EXPECT_USED(syscall(SYS_access, buffer, R_OK), -1, 13, 13);
    EXPECT_USED(syscall(SYS_get_robust_list, 0, buffer, &size) < 0, 0, 4096 - (uintptr_t)buffer % 4096, SIZE_MAX);
    *access_hook = *end_hook = NULL;

    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    static sem_t semaphore;
    static pthread_barrier_t barrier;
    struct timespec past = {1, 0};
    sem_init(&semaphore, 0, 0);
    pthread_barrier_init(&barrier, NULL, 1);
    *object_hook = (void *)record_object;
    EXPECT_OBJECT(pthread_mutex_lock(&mutex), 0, &mutex);
    /* The mutex is reported last. */
    EXPECT_OBJECT(pthread_cond_timedwait(&condition, &mutex, &past), ETIMEDOUT, &mutex);
    EXPECT_OBJECT(pthread_mutex_timedlock(&mutex, &past), ETIMEDOUT, &mutex);
    EXPECT_OBJECT(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &past), ETIMEDOUT, &mutex);
    EXPECT_OBJECT(pthread_cond_signal(&condition), 0, &condition);
    EXPECT_OBJECT(pthread_cond_broadcast(&condition), 0, &condition);
    EXPECT_OBJECT(pthread_rwlock_rdlock(&rwlock), 0, &rwlock);
    EXPECT_OBJECT(pthread_rwlock_timedrdlock(&rwlock, &past), 0, &rwlock);
    EXPECT_OBJECT(pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &past), 0, &rwlock);
    EXPECT_OBJECT(pthread_rwlock_timedwrlock(&rwlock, &past), ETIMEDOUT, &rwlock);
    EXPECT_OBJECT(pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &past), ETIMEDOUT, &rwlock);
    for (int i = 0; i < 3; i++) {
        pthread_rwlock_unlock(&rwlock);
    }
    EXPECT_OBJECT(pthread_rwlock_wrlock(&rwlock), 0, &rwlock);
    EXPECT_OBJECT(sem_post(&semaphore), 0, &semaphore);
    EXPECT_OBJECT(sem_wait(&semaphore), 0, &semaphore);
    EXPECT_OBJECT(sem_timedwait(&semaphore, &past), -1, &semaphore);
    EXPECT_OBJECT(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD, &barrier);
    *object_hook = NULL;
    return failed;
}
