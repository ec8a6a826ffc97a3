/*
 * Concurrency helpers of the harness: streams, threads, gates and flags.
 * Included by expect.h.
 */
#ifndef CONFORMANCE_GATE_H
#define CONFORMANCE_GATE_H

static inline aclrtStream new_stream(void)
{
    aclrtStream stream = NULL;
    REQUIRE_OK(aclrtCreateStream(&stream));
    return stream;
}

/* Returns the handle of a destroyed stream. */
static inline aclrtStream stale_stream(void)
{
    aclrtStream stream = new_stream();
    REQUIRE_OK(aclrtDestroyStream(stream));
    return stream;
}

/* Runs `body(argument)` in a new thread, which has no current context, and waits for it. */
static inline void in_new_thread(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    REQUIRE_TRUE(pthread_create(&thread, NULL, body, argument) == 0, "pthread_create");
    REQUIRE_TRUE(pthread_join(thread, NULL) == 0, "pthread_join");
}

/*
 * A gate blocks a stream: tasks queued after it do not run until it is opened.
 * A context may have a single thread for host functions, so a program keeps at
 * most one gate per context closed at a time.
 * Gates are static objects: `static struct gate gate = GATE_INITIALIZER;`
 */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int open;
    int entered;
    int passed;
};

#define GATE_INITIALIZER { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0 }

/* Host function that blocks its stream until the gate is open. */
static inline void gate_block(void *argument)
{
    struct gate *gate = (struct gate *)argument;
    pthread_mutex_lock(&gate->lock);
    gate->entered++;
    pthread_cond_broadcast(&gate->changed);
    while (!gate->open) {
        pthread_cond_wait(&gate->changed, &gate->lock);
    }
    gate->passed++;
    pthread_mutex_unlock(&gate->lock);
}

/* Blocks `stream` for all tasks queued from now on. */
static inline void gate_close(struct gate *gate, aclrtStream stream)
{
    pthread_mutex_lock(&gate->lock);
    gate->open = 0;
    gate->entered = 0;
    gate->passed = 0;
    pthread_mutex_unlock(&gate->lock);
    REQUIRE_OK(aclrtLaunchHostFunc(stream, gate_block, gate));
}

/* Waits until the stream has reached the gate. */
static inline void gate_await(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    while (gate->entered == 0) {
        pthread_cond_wait(&gate->changed, &gate->lock);
    }
    pthread_mutex_unlock(&gate->lock);
}

static inline void gate_open(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->open = 1;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

static inline int gate_passed(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    int passed = gate->passed;
    pthread_mutex_unlock(&gate->lock);
    return passed;
}

/* A value that one thread sets and other threads read or await. Static, like a gate. */
struct flag {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int value;
};

#define FLAG_INITIALIZER { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 }

static inline void flag_set(struct flag *flag, int value)
{
    pthread_mutex_lock(&flag->lock);
    flag->value = value;
    pthread_cond_broadcast(&flag->changed);
    pthread_mutex_unlock(&flag->lock);
}

static inline int flag_get(struct flag *flag)
{
    pthread_mutex_lock(&flag->lock);
    int value = flag->value;
    pthread_mutex_unlock(&flag->lock);
    return value;
}

static inline void flag_await(struct flag *flag, int value)
{
    pthread_mutex_lock(&flag->lock);
    while (flag->value != value) {
        pthread_cond_wait(&flag->changed, &flag->lock);
    }
    pthread_mutex_unlock(&flag->lock);
}

/*
 * Gives something that must not happen 20 ms to happen. Returns true if the
 * flag never took `value`. A correct library cannot fail this check.
 */
static inline int flag_never_becomes(struct flag *flag, int value)
{
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_nsec += 20 * 1000 * 1000;
    if (deadline.tv_nsec >= 1000000000) {
        deadline.tv_nsec -= 1000000000;
        deadline.tv_sec++;
    }
    pthread_mutex_lock(&flag->lock);
    while (flag->value != value && pthread_cond_timedwait(&flag->changed, &flag->lock, &deadline) == 0) {
    }
    int differs = flag->value != value;
    pthread_mutex_unlock(&flag->lock);
    return differs;
}

/* True if the stream has unfinished tasks. The query itself must succeed. */
static inline int stream_is_busy(aclrtStream stream)
{
    aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
    EXPECT_OK(aclrtStreamQuery(stream, &status));
    return status == ACL_STREAM_STATUS_NOT_READY;
}

/* Sleeps between two polls. Polling without a pause would take the CPU from the work that is polled for. */
static inline void poll_pause(void)
{
    struct timespec pause = {0, 100 * 1000};
    nanosleep(&pause, NULL);
}

/* Host function that increments a counter; read the counter with count_of(). */
static inline void count_up(void *counter)
{
    __atomic_add_fetch((int *)counter, 1, __ATOMIC_SEQ_CST);
}

static inline int count_of(int *counter)
{
    return __atomic_load_n(counter, __ATOMIC_SEQ_CST);
}

#endif
