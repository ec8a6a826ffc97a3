/* Programs whose main thread waits long for a stream. The argument names what ends the wait after a while: none of them
   hangs, although most threads wait most of the time. With "forever" a signal could end it, and with "hang" nothing. */
#include "runtime.h"
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KEY = 65 };

static const struct timespec LONG = {1, 700 * 1000 * 1000};
static void *notify, *other, *context;
static sem_t semaphore;
static sem_t *shared;
static int ends[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void record(void)
{
    CALL(aclrtSetCurrentContext, (void *), context);
    CALL(aclrtRecordNotify, (void *, void *), notify, other);
    CALL(aclrtSynchronizeStream, (void *), other);
}

static void rest(void)
{
    nanosleep(&LONG, NULL);
}

static void *sleeping(void *unused)
{
    rest();
    record();
    return unused;
}

static void *polling(void *unused)
{
    struct pollfd file = {ends[0], POLLIN, 0};
    poll(&file, 1, 1700);
    record();
    return unused;
}

static void *reading(void *unused)
{
    char byte;
    if (read(ends[0], &byte, 1) != 1) {
        exit(92);
    }
    record();
    return unused;
}

static void *timed(void *unused)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2;
    pthread_mutex_lock(&mutex);
    while (pthread_cond_timedwait(&condition, &mutex, &until) == 0) {
    }
    pthread_mutex_unlock(&mutex);
    record();
    return unused;
}

static void *spinning(void *unused)
{
    for (time_t end = time(NULL) + 2; time(NULL) < end;) {
        sched_yield();
    }
    record();
    return unused;
}

static void *posted(void *unused)
{
    while (sem_wait(&semaphore) != 0) {
    }
    record();
    return unused;
}

static void *posted_by_child(void *unused)
{
    while (sem_wait(shared) != 0) {
    }
    record();
    return unused;
}

static void post(int number)
{
    (void)number;
    sem_post(&semaphore);
}

static void post_from_timer(union sigval unused)
{
    (void)unused;
    sem_post(&semaphore);
}

static void function_that_sleeps(void *unused)
{
    (void)unused;
    rest();
}

static void *paused(void *unused)
{
    pause();
    record();
    return unused;
}

/* Starts a thread that waits for another one, which is the one that ends the wait. */
static void *chained(void *unused)
{
    pthread_t thread;
    pthread_create(&thread, NULL, sleeping, NULL);
    pthread_join(thread, NULL);
    return unused;
}

/* A process that ends the wait of its parent. It is forked before the parent uses the runtime. */
static void run_child(const char *mode, int keys)
{
    if (strcmp(mode, "process") == 0) {
        char key[KEY];
        void *theirs, *mine;
        if (read(keys, key, KEY) != KEY) {
            exit(93);
        }
        rest();
        CALL(aclrtSetDevice, (int), 0);
        CALL(aclrtCreateStream, (void **), &mine);
        CALL(aclrtNotifyImportByKey, (void **, const char *, uint64_t), &theirs, key, 0);
        CALL(aclrtRecordNotify, (void *, void *), theirs, mine);
        CALL(aclrtSynchronizeStream, (void *), mine);
        CALL(aclrtDestroyNotify, (void *), theirs);
        CALL(aclrtDestroyStream, (void *), mine);
        CALL(aclrtResetDevice, (int), 0);
        exit(0);
    }
    rest();
    if (strcmp(mode, "pipe") == 0 && write(ends[1], "x", 1) != 1) {
        _exit(94);
    }
    sem_post(shared);
    _exit(0);
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "";
    int keys[2];
    pthread_t thread = 0;
    struct {
        const char *name;
        void *(*run)(void *);
    } threads[] = {
        {"sleep", sleeping},   {"poll", polling},          {"pipe", reading}, {"timed", timed},     {"spin", spinning},
        {"signal", posted},    {"timer thread", posted},   {"shared semaphore", posted_by_child},   {"join", chained},
        {"forever", paused},
    };
    shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sem_init(shared, 1, 0);
    sem_init(&semaphore, 0, 0);
    if (pipe(ends) != 0 || pipe(keys) != 0) {
        return 95;
    }
    int has_child = strcmp(mode, "pipe") == 0 || strcmp(mode, "shared semaphore") == 0 || strcmp(mode, "process") == 0;
    pid_t child = has_child ? fork() : -1;
    if (child == 0) {
        run_child(mode, keys[0]);
    }
    begin();
    CALL(aclrtGetCurrentContext, (void **), &context);
    CALL(aclrtCreateStream, (void **), &other);
    CALL(aclrtCreateNotify, (void **, uint64_t), &notify, 0);
    if (strcmp(mode, "signal") == 0) {
        struct itimerval once = {{0, 0}, {1, 700000}};
        signal(SIGALRM, post);
        setitimer(ITIMER_REAL, &once, NULL);
    }
    if (strcmp(mode, "timer thread") == 0) {
        struct sigevent event = {0};
        struct itimerspec once = {{0, 0}, {1, 700 * 1000 * 1000}};
        timer_t timer;
        event.sigev_notify = SIGEV_THREAD;
        event.sigev_notify_function = post_from_timer;
        if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &once, NULL) != 0) {
            return 96;
        }
    }
    if (strcmp(mode, "process") == 0) {
        char key[KEY] = {0};
        /* Without a list of allowed processes. */
        CALL(aclrtNotifyGetExportKey, (void *, char *, size_t, uint64_t), notify, key, KEY, 2);
        if (write(keys[1], key, KEY) != KEY) {
            return 97;
        }
    }
    if (strcmp(mode, "host function") == 0) {
        CALL(aclrtLaunchHostFunc, (void *, void (*)(void *), void *), other, function_that_sleeps, NULL);
        CALL(aclrtRecordNotify, (void *, void *), notify, other);
    }
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        if (strcmp(mode, threads[i].name) == 0) {
            pthread_create(&thread, NULL, threads[i].run, NULL);
        }
    }
    CALL(aclrtWaitAndResetNotify, (void *, void *, uint32_t), notify, stream, 0);
    if (strcmp(mode, "timeout") == 0) {
        int (*wait)(void *, int32_t) = (int (*)(void *, int32_t))function("aclrtSynchronizeStreamWithTimeout");
        if (wait(stream, 1700) == 0) {
            return 98;
        }
        record();
    }
    synchronize();
    if (thread != 0) {
        pthread_join(thread, NULL);
    }
    if (child > 0) {
        waitpid(child, NULL, 0);
    }
    CALL(aclrtSynchronizeStream, (void *), other);
    CALL(aclrtDestroyNotify, (void *), notify);
    CALL(aclrtDestroyStream, (void *), other);
    return finish();
}
