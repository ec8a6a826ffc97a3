/* Stands in for the checker: notes what the interposer tells, and says which call was not told, or told wrongly. */
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

static void touched(const void *start, size_t size, int is_write, const char *function)
{
    seen = start;
    seen_size = size;
    seen_write = is_write;
    snprintf(seen_name, sizeof seen_name, "%s", function);
}

static void used(const void *start, size_t size)
{
    seen = start;
    seen_size = size;
}

static void told(const char *call, int worked, const void *start, size_t size)
{
    if (!worked || seen != start || seen_size != size) {
        fprintf(stderr, "%s: worked %d, told %p with %zu bytes instead of %p with %zu\n", call, worked, seen, seen_size, start, size);
        failed = 1;
    }
    seen = NULL;
}

#define GIVES(call, is_write)                                                                                  \
    do {                                                                                                       \
        told(#call, (call) >= 0, buffer, sizeof buffer);                                                       \
        if (seen_write != (is_write) || strncmp(#call, seen_name, strlen(seen_name)) != 0) {                   \
            fprintf(stderr, #call ": told as %s, write %d\n", seen_name, seen_write);                          \
            failed = 1;                                                                                        \
        }                                                                                                      \
    } while (0)

#define USES(call, code, object)                                                                               \
    do {                                                                                                       \
        seen = NULL;                                                                                           \
        told(#call, (call) == (code), object, sizeof *(object));                                               \
    } while (0)

int main(void)
{
    void **touch_cell = dlsym(RTLD_DEFAULT, "softacl_interposer_touch"), **use_cell = dlsym(RTLD_DEFAULT, "softacl_interposer_object");
    if (touch_cell == NULL || use_cell == NULL) {
        fprintf(stderr, "no interposer\n");
        return 1;
    }
    static char buffer[64];
    struct iovec part = {buffer, sizeof buffer};
    FILE *keeper = tmpfile();
    if (keeper == NULL) {
        return 1;
    }
    int file = fileno(keeper);
    *touch_cell = (void *)touched;
    GIVES(pwritev(file, &part, 1, 0), 0);
    GIVES(preadv(file, &part, 1, 0), 1);
    GIVES(pwritev64(file, &part, 1, 0), 0);
    GIVES(preadv64(file, &part, 1, 0), 1);
    GIVES(pwritev2(file, &part, 1, 0, 0), 0);
    GIVES(preadv2(file, &part, 1, 0, 0), 1);
    GIVES(pwritev64v2(file, &part, 1, 0, 0), 0);
    GIVES(preadv64v2(file, &part, 1, 0, 0), 1);
    GIVES(getrandom(buffer, sizeof buffer, 0), 1);
    GIVES(readlink("/proc/self/exe", buffer, sizeof buffer), 1);
    *touch_cell = NULL;

    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_rwlock_t both = PTHREAD_RWLOCK_INITIALIZER;
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    static sem_t semaphore;
    static pthread_barrier_t barrier;
    struct timespec past = {1, 0};
    sem_init(&semaphore, 0, 0);
    pthread_barrier_init(&barrier, NULL, 1);
    *use_cell = (void *)used;
    USES(pthread_mutex_lock(&mutex), 0, &mutex);
    /* The mutex is told last. */
    USES(pthread_cond_timedwait(&condition, &mutex, &past), ETIMEDOUT, &mutex);
    USES(pthread_mutex_timedlock(&mutex, &past), ETIMEDOUT, &mutex);
    USES(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &past), ETIMEDOUT, &mutex);
    USES(pthread_cond_signal(&condition), 0, &condition);
    USES(pthread_cond_broadcast(&condition), 0, &condition);
    USES(pthread_rwlock_rdlock(&both), 0, &both);
    USES(pthread_rwlock_timedrdlock(&both, &past), 0, &both);
    USES(pthread_rwlock_clockrdlock(&both, CLOCK_MONOTONIC, &past), 0, &both);
    USES(pthread_rwlock_timedwrlock(&both, &past), ETIMEDOUT, &both);
    USES(pthread_rwlock_clockwrlock(&both, CLOCK_MONOTONIC, &past), ETIMEDOUT, &both);
    for (int i = 0; i < 3; i++) {
        pthread_rwlock_unlock(&both);
    }
    USES(pthread_rwlock_wrlock(&both), 0, &both);
    USES(sem_post(&semaphore), 0, &semaphore);
    USES(sem_wait(&semaphore), 0, &semaphore);
    USES(sem_timedwait(&semaphore, &past), -1, &semaphore);
    USES(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD, &barrier);
    *use_cell = NULL;
    return failed;
}
