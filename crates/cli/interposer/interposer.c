/*
 * The interposer: a small library that `softacl check` preloads into the program. It reports what the checker cannot
 * observe otherwise:
 *
 * - Memory that is passed to the system: buffers, messages, paths and small structs. The checker protects pages of
 *   pinned and registered memory while a copy is in flight. A system call on such a page would fail with EFAULT instead
 *   of raising a signal, so the interposer announces the memory before the call, and the checker unprotects the pages.
 *   After the call it reports how many bytes were used, because a call may use less than it was given. Pages with an
 *   object on which threads wait (a mutex, a semaphore, a futex) are not protected any more: the kernel accesses them
 *   whenever a thread waits, and EFAULT there ends the process.
 * - What string functions have read: they load whole vectors, of which they use a part.
 * - Memory that is released (free, realloc, munmap): it may be registered and in flight.
 * - Happens-before edges between threads: condition variables, semaphores, barriers, start and end of threads. Every
 *   thread and every such object has a vector clock. Mutexes have none: mutual exclusion implies no order.
 * - The end of a process that does not run its exit handlers (_exit, quick_exit): the checker writes its report first.
 * - Fault handlers that the program installs while copies are in flight: the checker installs its handler in front of
 *   them again. Fault signals are never blocked: the first access of a thread that blocks all signals would end it.
 *
 * Not observed: atomics and spinning, system calls that bypass the C library or are made inside it, io_uring. The
 * interposer makes no decisions; it only answers the checker.
 *
 * This file contains synchronization, threads and signal handlers. memory.c lists the other files.
 */
#include "interposer.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* ---- hooks of the checker ---------------------------------------------------------------------------------------- */

typedef void (*object_hook)(const void *start, size_t size);

EXPORT _Atomic(object_hook) softacl_interposer_object;

void report_object(const void *start, size_t size)
{
    object_hook hook = atomic_load_explicit(&softacl_interposer_object, memory_order_acquire);
    if (hook != NULL) {
        int saved = errno;
        hook(start, size);
        errno = saved;
    }
}

void report_stack(const void *start, size_t size)
{
    if (is_watched(start)) {
        report_object(start, size);
    }
}

typedef void (*signal_hook)(void);

/* Called before the process ends without running its exit handlers. */
EXPORT _Atomic(signal_hook) softacl_interposer_end;
/* Called after the program has installed a handler for a signal that the checker needs. */
EXPORT _Atomic(signal_hook) softacl_interposer_handler;

static void call_hook(_Atomic(signal_hook) *cell)
{
    signal_hook hook = atomic_load_explicit(cell, memory_order_acquire);
    if (hook != NULL) {
        int saved = errno;
        hook();
        errno = saved;
    }
}

/* ---- vector clocks ----------------------------------------------------------------------------------------------- */

#define THREADS 128  /* threads beyond this limit have no clock and count as ordered */
#define OBJECTS 4096 /* objects that share a slot share a clock: that adds order, never removes it */

struct clock {
    uint32_t at[THREADS];
};

static struct object {
    atomic_flag lock;
    struct clock clock;
} objects[OBJECTS];

static _Atomic uint32_t next_thread;
static __thread uint32_t self_plus_one __attribute__((tls_model("initial-exec")));
static __thread struct clock now __attribute__((tls_model("initial-exec")));

/* Returns the index of this thread, or THREADS if there are too many. */
static uint32_t self(void)
{
    if (self_plus_one == 0) {
        uint32_t index = atomic_fetch_add(&next_thread, 1);
        self_plus_one = (index < THREADS ? index : THREADS) + 1;
        if (index < THREADS) {
            now.at[index] = 1;
        }
    }
    return self_plus_one - 1;
}

/* Returns the locked clock slot of an object. */
static struct object *lock_object(const void *address)
{
    uint64_t hash = (uint64_t)(uintptr_t)address * 0x9E3779B97F4A7C15u;
    struct object *object = &objects[hash >> 52];
    while (atomic_flag_test_and_set_explicit(&object->lock, memory_order_acquire)) {
        __builtin_ia32_pause();
    }
    return object;
}

static void unlock_object(struct object *object)
{
    atomic_flag_clear_explicit(&object->lock, memory_order_release);
}

/* Returns the number of threads that have a clock. */
static uint32_t thread_count(void)
{
    uint32_t count = atomic_load_explicit(&next_thread, memory_order_relaxed);
    return count < THREADS ? count : THREADS;
}

/* Merges a clock into another one. */
static void join(struct clock *to, const struct clock *from)
{
    for (uint32_t i = 0, count = thread_count(); i < count; i++) {
        if (to->at[i] < from->at[i]) {
            to->at[i] = from->at[i];
        }
    }
}

/* Orders what this thread has done before every later acquire of the object. */
static void release(const void *address)
{
    uint32_t me = self();
    if (thread_count() < 2) {
        /* No other thread exists yet. A thread that starts later receives this thread's clock at its start. */
        return;
    }
    struct object *object = lock_object(address);
    join(&object->clock, &now);
    unlock_object(object);
    if (me < THREADS) {
        now.at[me]++;
    }
}

/* Orders every earlier release of the object before what this thread does next. */
static void acquire(const void *address)
{
    self();
    if (thread_count() < 2) {
        return;
    }
    struct object *object = lock_object(address);
    join(&now, &object->clock);
    unlock_object(object);
}

/* Returns the current time of this thread: its index and its clock value. 0 if the thread has no clock. */
EXPORT uint64_t softacl_interposer_now(void)
{
    uint32_t me = self();
    return me < THREADS ? (uint64_t)(me + 1) << 32 | now.at[me] : 0;
}

/* True if a time of any thread happens before what this thread does now. */
EXPORT int softacl_interposer_comes_after(uint64_t time)
{
    uint32_t me = self(), thread = (uint32_t)(time >> 32);
    if (time == 0 || me == THREADS) {
        return 1;
    }
    return thread - 1 == me || now.at[thread - 1] >= (uint32_t)time;
}

/* ---- synchronization objects ------------------------------------------------------------------------------------- */

#define LOCK(name, type, parameters, ...)                                                                              \
    EXPORT int name parameters                                                                                         \
    {                                                                                                                  \
        REAL(name)                                                                                                     \
        report_object(lock, sizeof(type));                                                                             \
        return call(__VA_ARGS__);                                                                                      \
    }

/* The system reads the end of a wait from the memory of the program. */
#define UNTIL const struct timespec *restrict until
#define WAIT_END BYTES(until, sizeof *until, WHOLE)

#define TIMED_LOCK(name, type, parameters, ...)                                                                        \
    EXPORT int name parameters                                                                                         \
    {                                                                                                                  \
        report_object(lock, sizeof(type));                                                                             \
        CALL_CODE(name, (WAIT_END), __VA_ARGS__)                                                                       \
    }

LOCK(pthread_mutex_lock, pthread_mutex_t, (pthread_mutex_t *lock), lock)
TIMED_LOCK(pthread_mutex_timedlock, pthread_mutex_t, (pthread_mutex_t *restrict lock, UNTIL), lock, until)
TIMED_LOCK(pthread_mutex_clocklock, pthread_mutex_t, (pthread_mutex_t *restrict lock, clockid_t clock, UNTIL), lock,
           clock, until)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_t, (pthread_rwlock_t *lock), lock)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_t, (pthread_rwlock_t *lock), lock)
TIMED_LOCK(pthread_rwlock_timedrdlock, pthread_rwlock_t, (pthread_rwlock_t *restrict lock, UNTIL), lock, until)
TIMED_LOCK(pthread_rwlock_timedwrlock, pthread_rwlock_t, (pthread_rwlock_t *restrict lock, UNTIL), lock, until)
TIMED_LOCK(pthread_rwlock_clockrdlock, pthread_rwlock_t, (pthread_rwlock_t *restrict lock, clockid_t clock, UNTIL),
           lock, clock, until)
TIMED_LOCK(pthread_rwlock_clockwrlock, pthread_rwlock_t, (pthread_rwlock_t *restrict lock, clockid_t clock, UNTIL),
           lock, clock, until)

LOCK(mtx_lock, mtx_t, (mtx_t *lock), lock)
TIMED_LOCK(mtx_timedlock, mtx_t, (mtx_t *restrict lock, UNTIL), lock, until)

EXPORT int cnd_wait(cnd_t *condition, mtx_t *mutex)
{
    REAL(cnd_wait)
    report_object(condition, sizeof *condition);
    report_object(mutex, sizeof *mutex);
    return call(condition, mutex);
}

EXPORT int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex, UNTIL)
{
    report_object(condition, sizeof *condition);
    report_object(mutex, sizeof *mutex);
    CALL_CODE(cnd_timedwait, (WAIT_END), condition, mutex, until)
}

EXPORT int pthread_cond_signal(pthread_cond_t *condition)
{
    REAL(pthread_cond_signal)
    report_object(condition, sizeof *condition);
    release(condition);
    return call(condition);
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *condition)
{
    REAL(pthread_cond_broadcast)
    report_object(condition, sizeof *condition);
    release(condition);
    return call(condition);
}

/* Waits until a time, or forever if it is NULL. */
#define WAIT(name, until, ...)                                                                                         \
    REAL(name)                                                                                                         \
    report_object(condition, sizeof *condition);                                                                       \
    report_object(mutex, sizeof *mutex);                                                                               \
    begin_access(until, sizeof(struct timespec), 0, #name);                                                            \
    int code = call(__VA_ARGS__);                                                                                      \
    end_access(until, sizeof(struct timespec), sizeof(struct timespec));                                               \
    if (code == 0) {                                                                                                   \
        acquire(condition);                                                                                            \
    }                                                                                                                  \
    return code;

EXPORT int pthread_cond_wait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex)
{
    WAIT(pthread_cond_wait, NULL, condition, mutex)
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                                  const struct timespec *restrict until)
{
    WAIT(pthread_cond_timedwait, until, condition, mutex, until)
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, clockid_t clock,
                                  const struct timespec *restrict until)
{
    WAIT(pthread_cond_clockwait, until, condition, mutex, clock, until)
}

EXPORT int sem_post(sem_t *semaphore)
{
    REAL(sem_post)
    report_object(semaphore, sizeof *semaphore);
    release(semaphore);
    return call(semaphore);
}

#define SEMAPHORE_WAIT(name, until, ...)                                                                               \
    REAL(name)                                                                                                         \
    report_object(semaphore, sizeof *semaphore);                                                                       \
    begin_access(until, sizeof(struct timespec), 0, #name);                                                            \
    int code = call(__VA_ARGS__);                                                                                      \
    end_access(until, sizeof(struct timespec), sizeof(struct timespec));                                               \
    if (code == 0) {                                                                                                   \
        acquire(semaphore);                                                                                            \
    }                                                                                                                  \
    return code;

EXPORT int sem_wait(sem_t *semaphore)
{
    SEMAPHORE_WAIT(sem_wait, NULL, semaphore)
}

EXPORT int sem_trywait(sem_t *semaphore)
{
    SEMAPHORE_WAIT(sem_trywait, NULL, semaphore)
}

EXPORT int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until)
{
    SEMAPHORE_WAIT(sem_timedwait, until, semaphore, until)
}

EXPORT int sem_clockwait(sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict until)
{
    SEMAPHORE_WAIT(sem_clockwait, until, semaphore, clock, until)
}

EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
    REAL(pthread_barrier_wait)
    report_object(barrier, sizeof *barrier);
    release(barrier);
    int code = call(barrier);
    acquire(barrier);
    return code;
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

struct start {
    void *(*run)(void *);
    void *argument;
};

/* Runs at the end of a thread, whether it returns, exits or is canceled. */
static void ended(void *unused)
{
    (void)unused;
    release((const void *)(uintptr_t)pthread_self());
}

static void *begin(void *memory)
{
    struct start start = *(struct start *)memory;
    self();
    acquire(memory);
    free(memory);
    void *result;
    pthread_cleanup_push(ended, NULL);
    result = start.run(start.argument);
    pthread_cleanup_pop(1);
    return result;
}

EXPORT int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                          void *(*run)(void *), void *restrict argument)
{
    REAL(pthread_create)
    struct start *start = malloc(sizeof *start);
    if (start == NULL) {
        return EAGAIN;
    }
    *start = (struct start){run, argument};
    void *stack = NULL;
    size_t stack_size = 0;
    if (attributes != NULL && pthread_attr_getstack(attributes, &stack, &stack_size) == 0) {
        report_stack(stack, stack_size);
    }
    uint32_t me = self();
    /* Also if this is the only thread: the new one must receive its clock. */
    struct object *object = lock_object(start);
    join(&object->clock, &now);
    if (me < THREADS && object->clock.at[me] < now.at[me]) {
        object->clock.at[me] = now.at[me];
    }
    unlock_object(object);
    if (me < THREADS) {
        now.at[me]++;
    }
    int code = call(thread, attributes, begin, start);
    if (code != 0) {
        free(start);
    }
    return code;
}

EXPORT int pthread_join(pthread_t thread, void **result)
{
    REAL(pthread_join)
    int code = call(thread, result);
    if (code == 0) {
        acquire((const void *)(uintptr_t)thread);
    }
    return code;
}

/* True if the checker handles the signal. */
static int is_fault(int signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGTRAP;
}

EXPORT int sigaction(int number, const struct sigaction *restrict action, struct sigaction *restrict old)
{
    REAL(sigaction)
    int code = call(number, action, old);
    if (code == 0 && action != NULL && is_fault(number)) {
        call_hook(&softacl_interposer_handler);
    }
    return code;
}

EXPORT __sighandler_t signal(int number, __sighandler_t handler)
{
    REAL(signal)
    __sighandler_t old = call(number, handler);
    if (old != SIG_ERR && is_fault(number)) {
        call_hook(&softacl_interposer_handler);
    }
    return old;
}

/* The set is a private copy, so that only the old one may be watched. The kernel writes its first word. */
#define MASK(name)                                                                                                     \
    EXPORT int name(int how, const sigset_t *restrict set, sigset_t *restrict old)                                     \
    {                                                                                                                  \
        sigset_t open;                                                                                                 \
        if (set != NULL) {                                                                                             \
            open = *set;                                                                                               \
            set = &open;                                                                                               \
        }                                                                                                              \
        if (set != NULL && how != SIG_UNBLOCK) {                                                                       \
            sigdelset(&open, SIGSEGV);                                                                                 \
            sigdelset(&open, SIGBUS);                                                                                  \
            sigdelset(&open, SIGTRAP);                                                                                 \
        }                                                                                                              \
        CALL_CODE(name, (BYTES(old, sizeof(uint64_t), WRITE)), how, set, old)                                          \
    }

MASK(sigprocmask)
MASK(pthread_sigmask)

#define EXIT(name)                                                                                                     \
    EXPORT _Noreturn void name(int code)                                                                               \
    {                                                                                                                  \
        REAL(name)                                                                                                     \
        call_hook(&softacl_interposer_end);                                                                            \
        call(code);                                                                                                    \
        __builtin_unreachable();                                                                                       \
    }

EXIT(_exit)
EXIT(_Exit)
EXIT(quick_exit)
