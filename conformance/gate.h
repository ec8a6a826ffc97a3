/*
 * Streams that are held, threads, flags: the second half of the harness.
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

/* A handle that was a stream once. */
static inline aclrtStream stale_stream(void)
{
    aclrtStream stream = new_stream();
    REQUIRE_OK(aclrtDestroyStream(stream));
    return stream;
}

/* Runs `body(argument)` in a new thread, one without a current context, and waits for it. */
static inline void in_new_thread(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    REQUIRE_TRUE(pthread_create(&thread, NULL, body, argument) == 0, "pthread_create");
    REQUIRE_TRUE(pthread_join(thread, NULL) == 0, "pthread_join");
}

/*
 * A gate holds a stream: nothing queued after it runs before it is opened.
 * A context may have a single thread for host functions, so one program keeps
 * at most one gate closed per context at any moment.
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

static inline void gate_hold(void *argument)
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

/* Holds `stream` from here on. */
static inline void gate_close(struct gate *gate, aclrtStream stream)
{
    pthread_mutex_lock(&gate->lock);
    gate->open = 0;
    gate->entered = 0;
    gate->passed = 0;
    pthread_mutex_unlock(&gate->lock);
    REQUIRE_OK(aclrtLaunchHostFunc(stream, gate_hold, gate));
}

/* Waits until the stream has arrived at the gate. */
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

/* A flag that one thread raises and others read or await. Static, like a gate. */
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
 * Gives something that must not happen a short chance to happen: true when the
 * flag still differs from `value` at the end. A right library never fails it.
 */
static inline int flag_stays_away(struct flag *flag, int value)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20 * 1000 * 1000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&flag->lock);
    while (flag->value != value && pthread_cond_timedwait(&flag->changed, &flag->lock, &until) == 0) {
    }
    int away = flag->value != value;
    pthread_mutex_unlock(&flag->lock);
    return away;
}

/* The state of a stream; the query itself must succeed. */
static inline int stream_is_busy(aclrtStream stream)
{
    aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
    EXPECT_OK(aclrtStreamQuery(stream, &status));
    return status == ACL_STREAM_STATUS_NOT_READY;
}

/* Between two questions: a program that asks all the time takes the processor from what it asks for. */
static inline void ask_later(void)
{
    struct timespec pause = {0, 100 * 1000};
    nanosleep(&pause, NULL);
}

/* A host function that counts; read the counter with count_of. */
static inline void count_up(void *counter)
{
    __atomic_add_fetch((int *)counter, 1, __ATOMIC_SEQ_CST);
}

static inline int count_of(int *counter)
{
    return __atomic_load_n(counter, __ATOMIC_SEQ_CST);
}

#endif
