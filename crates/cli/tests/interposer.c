/* Takes the place of the checker: records what the interposer reports, and prints missing or wrong reports. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static const void *seen;
static size_t seen_size;
static int seen_write;
static char seen_name[64];
static int failed;

static void record_access(const void *start, size_t size, int is_write, const char *function)
{
    seen = start;
    seen_size = size;
    seen_write = is_write;
    snprintf(seen_name, sizeof seen_name, "%s", function);
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

#define EXPECT_OBJECT(call, code, object)                                                                              \
    do {                                                                                                               \
        seen = NULL;                                                                                                   \
        expect_report(#call, (call) == (code), object, sizeof *(object));                                              \
    } while (0)

int main(void)
{
    void **access_hook = dlsym(RTLD_DEFAULT, "softacl_interposer_touch");
    void **object_hook = dlsym(RTLD_DEFAULT, "softacl_interposer_object");
    if (access_hook == NULL || object_hook == NULL) {
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
    *access_hook = NULL;

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
