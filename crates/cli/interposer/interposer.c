/*
 * The interposer: a small library that `softacl check` preloads into the program. It reports what the checker cannot
 * observe otherwise:
 *
 * - Memory that is passed to the system (read, write, recv, send and similar calls). The checker protects pages of
 *   pinned memory while a copy is in flight. A system call on such a page would fail with EFAULT instead of raising a
 *   signal, so the interposer reports the access before the call; the checker records it and unprotects the page. Pages
 *   with an object on which threads wait (a mutex, a semaphore) are not protected any more: the kernel accesses them
 *   whenever a thread waits, and EFAULT there ends the process.
 * - Happens-before edges between threads: condition variables, semaphores, barriers, start and end of threads. Every
 *   thread and every such object has a vector clock. Mutexes have none: mutual exclusion implies no order.
 * - The end of a process that does not run its exit handlers (_exit, quick_exit): the checker writes its report first.
 * - Fault handlers that the program installs while copies are in flight: the checker installs its handler in front of
 *   them again. Fault signals are never blocked: the first access of a thread that blocks all signals would end it.
 *
 * Not observed: atomics and spinning, direct futex calls, system calls that bypass the C library, io_uring. The
 * interposer makes no decisions; it only answers the checker.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* ---- hooks of the checker ---------------------------------------------------------------------------------------- */

typedef void (*access_hook)(const void *start, size_t size, int is_write, const char *function);

/* Set by the checker when it starts. */
EXPORT _Atomic(access_hook) softacl_interposer_touch;

typedef void (*object_hook)(const void *start, size_t size);

EXPORT _Atomic(object_hook) softacl_interposer_object;

/* Reports the use of an object on which threads wait. */
static void report_object(const void *start, size_t size)
{
    object_hook hook = atomic_load_explicit(&softacl_interposer_object, memory_order_acquire);
    if (hook != NULL) {
        int saved = errno;
        hook(start, size);
        errno = saved;
    }
}

/* Reports an access of a system call, before the call. */
static void report_access(const void *start, size_t size, int is_write, const char *function)
{
    access_hook hook = atomic_load_explicit(&softacl_interposer_touch, memory_order_acquire);
    if (hook != NULL && size != 0) {
        int saved = errno;
        hook(start, size, is_write, function);
        errno = saved;
    }
}

static void report_accesses(const struct iovec *parts, int count, int is_write, const char *function)
{
    for (int i = 0; parts != NULL && i < count; i++) {
        report_access(parts[i].iov_base, parts[i].iov_len, is_write, function);
    }
}

static void report_message(const struct msghdr *message, int is_write, const char *function)
{
    if (message != NULL) {
        report_accesses(message->msg_iov, (int)message->msg_iovlen, is_write, function);
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

/* ---- functions that replace those of the C library --------------------------------------------------------------- */

#define REAL(name)                                                                                                     \
    static _Atomic(void *) real_##name;                                                                                \
    __typeof__(&name) call = (__typeof__(&name))atomic_load_explicit(&real_##name, memory_order_relaxed);              \
    if (call == NULL) {                                                                                                \
        call = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                                             \
        atomic_store_explicit(&real_##name, (void *)call, memory_order_relaxed);                                       \
    }

/* A page may have been protected again between the report and the call: then both are repeated. */
#define TRANSFER(type, name, report, ...)                                                                              \
    REAL(name)                                                                                                         \
    type result;                                                                                                       \
    int tries = 0;                                                                                                     \
    do {                                                                                                               \
        report;                                                                                                        \
        result = call(__VA_ARGS__);                                                                                    \
    } while (result == (type)-1 && errno == EFAULT && ++tries < 3);                                                    \
    return result;

EXPORT ssize_t read(int file, void *buffer, size_t size)
{
    TRANSFER(ssize_t, read, report_access(buffer, size, 1, "read"), file, buffer, size)
}

EXPORT ssize_t write(int file, const void *buffer, size_t size)
{
    TRANSFER(ssize_t, write, report_access(buffer, size, 0, "write"), file, buffer, size)
}

EXPORT ssize_t pread(int file, void *buffer, size_t size, off_t offset)
{
    TRANSFER(ssize_t, pread, report_access(buffer, size, 1, "pread"), file, buffer, size, offset)
}

EXPORT ssize_t pread64(int file, void *buffer, size_t size, off64_t offset)
{
    TRANSFER(ssize_t, pread64, report_access(buffer, size, 1, "pread64"), file, buffer, size, offset)
}

EXPORT ssize_t pwrite(int file, const void *buffer, size_t size, off_t offset)
{
    TRANSFER(ssize_t, pwrite, report_access(buffer, size, 0, "pwrite"), file, buffer, size, offset)
}

EXPORT ssize_t pwrite64(int file, const void *buffer, size_t size, off64_t offset)
{
    TRANSFER(ssize_t, pwrite64, report_access(buffer, size, 0, "pwrite64"), file, buffer, size, offset)
}

EXPORT ssize_t readv(int file, const struct iovec *parts, int count)
{
    TRANSFER(ssize_t, readv, report_accesses(parts, count, 1, "readv"), file, parts, count)
}

EXPORT ssize_t writev(int file, const struct iovec *parts, int count)
{
    TRANSFER(ssize_t, writev, report_accesses(parts, count, 0, "writev"), file, parts, count)
}

#define VECTORED(name, offset_type, is_write)                                                                          \
    EXPORT ssize_t name(int file, const struct iovec *parts, int count, offset_type offset)                            \
    {                                                                                                                  \
        TRANSFER(ssize_t, name, report_accesses(parts, count, is_write, #name), file, parts, count, offset)            \
    }

VECTORED(preadv, off_t, 1)
VECTORED(preadv64, off64_t, 1)
VECTORED(pwritev, off_t, 0)
VECTORED(pwritev64, off64_t, 0)

#define VECTORED_WITH_FLAGS(name, offset_type, is_write)                                                               \
    EXPORT ssize_t name(int file, const struct iovec *parts, int count, offset_type offset, int flags)                 \
    {                                                                                                                  \
        TRANSFER(ssize_t, name, report_accesses(parts, count, is_write, #name), file, parts, count, offset, flags)     \
    }

VECTORED_WITH_FLAGS(preadv2, off_t, 1)
VECTORED_WITH_FLAGS(preadv64v2, off64_t, 1)
VECTORED_WITH_FLAGS(pwritev2, off_t, 0)
VECTORED_WITH_FLAGS(pwritev64v2, off64_t, 0)

EXPORT ssize_t getrandom(void *buffer, size_t size, unsigned int flags)
{
    TRANSFER(ssize_t, getrandom, report_access(buffer, size, 1, "getrandom"), buffer, size, flags)
}

EXPORT ssize_t readlink(const char *restrict path, char *restrict buffer, size_t size)
{
    TRANSFER(ssize_t, readlink, report_access(buffer, size, 1, "readlink"), path, buffer, size)
}

EXPORT ssize_t recv(int socket, void *buffer, size_t size, int flags)
{
    TRANSFER(ssize_t, recv, report_access(buffer, size, 1, "recv"), socket, buffer, size, flags)
}

EXPORT ssize_t send(int socket, const void *buffer, size_t size, int flags)
{
    TRANSFER(ssize_t, send, report_access(buffer, size, 0, "send"), socket, buffer, size, flags)
}

EXPORT ssize_t recvfrom(int socket, void *restrict buffer, size_t size, int flags, struct sockaddr *restrict from,
                        socklen_t *restrict length)
{
    TRANSFER(ssize_t, recvfrom, report_access(buffer, size, 1, "recvfrom"), socket, buffer, size, flags, from, length)
}

EXPORT ssize_t sendto(int socket, const void *buffer, size_t size, int flags, const struct sockaddr *to,
                      socklen_t length)
{
    TRANSFER(ssize_t, sendto, report_access(buffer, size, 0, "sendto"), socket, buffer, size, flags, to, length)
}

EXPORT ssize_t recvmsg(int socket, struct msghdr *message, int flags)
{
    TRANSFER(ssize_t, recvmsg, report_message(message, 1, "recvmsg"), socket, message, flags)
}

EXPORT ssize_t sendmsg(int socket, const struct msghdr *message, int flags)
{
    TRANSFER(ssize_t, sendmsg, report_message(message, 0, "sendmsg"), socket, message, flags)
}

/* Large transfers bypass the buffer of the FILE. */
EXPORT size_t fread(void *restrict buffer, size_t size, size_t count, FILE *restrict file)
{
    REAL(fread)
    report_access(buffer, size * count, 1, "fread");
    return call(buffer, size, count, file);
}

EXPORT size_t fwrite(const void *restrict buffer, size_t size, size_t count, FILE *restrict file)
{
    REAL(fwrite)
    report_access(buffer, size * count, 0, "fwrite");
    return call(buffer, size, count, file);
}

/* ---- synchronization objects ------------------------------------------------------------------------------------- */

#define LOCK(name, type, parameters, ...)                                                                              \
    EXPORT int name parameters                                                                                         \
    {                                                                                                                  \
        REAL(name)                                                                                                     \
        report_object(lock, sizeof(type));                                                                             \
        return call(__VA_ARGS__);                                                                                      \
    }

#define UNTIL const struct timespec *restrict until

LOCK(pthread_mutex_lock, pthread_mutex_t, (pthread_mutex_t *lock), lock)
LOCK(pthread_mutex_timedlock, pthread_mutex_t, (pthread_mutex_t *restrict lock, UNTIL), lock, until)
LOCK(pthread_mutex_clocklock, pthread_mutex_t, (pthread_mutex_t *restrict lock, clockid_t clock, UNTIL), lock, clock,
     until)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_t, (pthread_rwlock_t *lock), lock)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_t, (pthread_rwlock_t *lock), lock)
LOCK(pthread_rwlock_timedrdlock, pthread_rwlock_t, (pthread_rwlock_t *restrict lock, UNTIL), lock, until)
LOCK(pthread_rwlock_timedwrlock, pthread_rwlock_t, (pthread_rwlock_t *restrict lock, UNTIL), lock, until)
LOCK(pthread_rwlock_clockrdlock, pthread_rwlock_t, (pthread_rwlock_t *restrict lock, clockid_t clock, UNTIL), lock,
     clock, until)
LOCK(pthread_rwlock_clockwrlock, pthread_rwlock_t, (pthread_rwlock_t *restrict lock, clockid_t clock, UNTIL), lock,
     clock, until)

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

#define WAIT(name, ...)                                                                                                \
    REAL(name)                                                                                                         \
    report_object(condition, sizeof *condition);                                                                       \
    report_object(mutex, sizeof *mutex);                                                                               \
    int code = call(__VA_ARGS__);                                                                                      \
    if (code == 0) {                                                                                                   \
        acquire(condition);                                                                                            \
    }                                                                                                                  \
    return code;

EXPORT int pthread_cond_wait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex)
{
    WAIT(pthread_cond_wait, condition, mutex)
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                                  const struct timespec *restrict until)
{
    WAIT(pthread_cond_timedwait, condition, mutex, until)
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, clockid_t clock,
                                  const struct timespec *restrict until)
{
    WAIT(pthread_cond_clockwait, condition, mutex, clock, until)
}

EXPORT int sem_post(sem_t *semaphore)
{
    REAL(sem_post)
    report_object(semaphore, sizeof *semaphore);
    release(semaphore);
    return call(semaphore);
}

#define SEMAPHORE_WAIT(name, ...)                                                                                      \
    REAL(name)                                                                                                         \
    report_object(semaphore, sizeof *semaphore);                                                                       \
    int code = call(__VA_ARGS__);                                                                                      \
    if (code == 0) {                                                                                                   \
        acquire(semaphore);                                                                                            \
    }                                                                                                                  \
    return code;

EXPORT int sem_wait(sem_t *semaphore)
{
    SEMAPHORE_WAIT(sem_wait, semaphore)
}

EXPORT int sem_trywait(sem_t *semaphore)
{
    SEMAPHORE_WAIT(sem_trywait, semaphore)
}

EXPORT int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until)
{
    SEMAPHORE_WAIT(sem_timedwait, semaphore, until)
}

EXPORT int sem_clockwait(sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict until)
{
    SEMAPHORE_WAIT(sem_clockwait, semaphore, clock, until)
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

#define MASK(name)                                                                                                     \
    EXPORT int name(int how, const sigset_t *restrict set, sigset_t *restrict old)                                     \
    {                                                                                                                  \
        REAL(name)                                                                                                     \
        sigset_t open;                                                                                                 \
        if (set != NULL && how != SIG_UNBLOCK) {                                                                       \
            open = *set;                                                                                               \
            sigdelset(&open, SIGSEGV);                                                                                 \
            sigdelset(&open, SIGBUS);                                                                                  \
            sigdelset(&open, SIGTRAP);                                                                                 \
            set = &open;                                                                                               \
        }                                                                                                              \
        return call(how, set, old);                                                                                    \
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
