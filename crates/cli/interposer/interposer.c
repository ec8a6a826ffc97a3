/*
 * The interposer: a small LD_PRELOAD library that `softacl check` loads into the program. It observes four
 * things that the checker cannot observe itself:
 *
 * - Memory passed to system calls (read, write, recv, send and similar). The checker protects pages of pinned
 *   memory while a copy is in flight, and a system call on such a page would fail with EFAULT instead of
 *   faulting. The interposer calls the checker first, which records the access and unprotects the page. A page
 *   that contains an object on which threads wait (a mutex, a semaphore) is never protected again: the kernel
 *   reads it whenever a thread waits, and EFAULT there would end the process.
 * - Happens-before edges between threads: condition variables, semaphores, barriers, and the start and end of
 *   threads. Every thread and every such object has a vector clock. Mutexes have none: they exclude threads but
 *   do not order them.
 * - The end of a process that does not run its exit handlers (_exit, quick_exit), so that the checker can report
 *   its findings first.
 * - Fault handlers that the program installs while copies are in flight: the checker reinstalls its own handlers
 *   before them. Fault signals are never blocked, because the first access to a protected page would end a
 *   thread that blocks all signals.
 *
 * It cannot observe atomics and spinning, direct futex calls, system calls that bypass the C library, and
 * io_uring. It makes no decisions; the checker does.
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

/* ---- hooks of the checker ------------------------------------------------------------------------------ */

typedef void (*touch_hook)(const void *start, size_t size, int is_write, const char *function);

/* Set by the checker when it starts. */
EXPORT _Atomic(touch_hook) softacl_interposer_touch;

typedef void (*object_hook)(const void *start, size_t size);

EXPORT _Atomic(object_hook) softacl_interposer_object;

/* Calls the checker before an object on which threads wait is used. */
static void use(const void *start, size_t size)
{
    object_hook hook = atomic_load_explicit(&softacl_interposer_object, memory_order_acquire);
    if (hook != NULL) {
        int saved = errno;
        hook(start, size);
        errno = saved;
    }
}

static void touch(const void *start, size_t size, int is_write, const char *function)
{
    touch_hook hook = atomic_load_explicit(&softacl_interposer_touch, memory_order_acquire);
    if (hook != NULL && size != 0) {
        int saved = errno;
        hook(start, size, is_write, function);
        errno = saved;
    }
}

static void touch_all(const struct iovec *parts, int count, int is_write, const char *function)
{
    for (int i = 0; parts != NULL && i < count; i++) {
        touch(parts[i].iov_base, parts[i].iov_len, is_write, function);
    }
}

typedef void (*news_hook)(void);

/* Called before the process ends without running its exit handlers. */
EXPORT _Atomic(news_hook) softacl_interposer_end;
/* Called after the program installed a handler for a signal that the checker needs. */
EXPORT _Atomic(news_hook) softacl_interposer_handler;

static void tell(_Atomic(news_hook) *news)
{
    news_hook hook = atomic_load_explicit(news, memory_order_acquire);
    if (hook != NULL) {
        int saved = errno;
        hook();
        errno = saved;
    }
}

/* ---- vector clocks ------------------------------------------------------------------------------------- */

#define THREADS 128  /* threads beyond this number count as ordered with all others */
#define OBJECTS 4096 /* objects with equal hashes share a clock, which can only add order */

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

/* Returns the index of this thread, or THREADS if it is beyond the limit. */
static uint32_t self(void)
{
    if (self_plus_one == 0) {
        uint32_t number = atomic_fetch_add(&next_thread, 1);
        self_plus_one = (number < THREADS ? number : THREADS) + 1;
        if (number < THREADS) {
            now.at[number] = 1;
        }
    }
    return self_plus_one - 1;
}

static struct object *object_at(const void *address)
{
    uint64_t hash = (uint64_t)(uintptr_t)address * 0x9E3779B97F4A7C15u;
    struct object *object = &objects[hash >> 52];
    while (atomic_flag_test_and_set_explicit(&object->lock, memory_order_acquire)) {
        __builtin_ia32_pause();
    }
    return object;
}

static void leave(struct object *object)
{
    atomic_flag_clear_explicit(&object->lock, memory_order_release);
}

static uint32_t known(void)
{
    uint32_t count = atomic_load_explicit(&next_thread, memory_order_relaxed);
    return count < THREADS ? count : THREADS;
}

static void join(struct clock *to, const struct clock *from)
{
    for (uint32_t i = 0, count = known(); i < count; i++) {
        if (to->at[i] < from->at[i]) {
            to->at[i] = from->at[i];
        }
    }
}

/* Orders everything this thread has done before all threads that acquire the object later. */
static void release(const void *address)
{
    uint32_t me = self();
    if (known() < 2) {
        /* No other thread exists yet, and pthread_create() orders new threads after this point. */
        return;
    }
    struct object *object = object_at(address);
    join(&object->clock, &now);
    leave(object);
    if (me < THREADS) {
        now.at[me]++;
    }
}

static void acquire(const void *address)
{
    self();
    if (known() < 2) {
        return;
    }
    struct object *object = object_at(address);
    join(&now, &object->clock);
    leave(object);
}

/* Returns the current moment: the thread index plus one in the upper half, the thread's clock in the lower half.
 * Returns 0 if the thread is beyond the limit. */
EXPORT uint64_t softacl_interposer_now(void)
{
    uint32_t me = self();
    return me < THREADS ? (uint64_t)(me + 1) << 32 | now.at[me] : 0;
}

/* Returns 1 if a moment of any thread happens before the current moment of this thread. */
EXPORT int softacl_interposer_comes_after(uint64_t moment)
{
    uint32_t me = self(), thread = (uint32_t)(moment >> 32);
    if (moment == 0 || me == THREADS) {
        return 1;
    }
    return thread - 1 == me || now.at[thread - 1] >= (uint32_t)moment;
}

/* ---- interposed functions of the C library ------------------------------------------------------------- */

#define REAL(name)                                                                                             \
    static _Atomic(void *) real_##name;                                                                        \
    __typeof__(&name) call = (__typeof__(&name))atomic_load_explicit(&real_##name, memory_order_relaxed);      \
    if (call == NULL) {                                                                                        \
        call = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                                     \
        atomic_store_explicit(&real_##name, (void *)call, memory_order_relaxed);                               \
    }

/* The page may be protected again between the hook and the call, which then fails with EFAULT: repeat both. */
#define MOVE(type, name, touches, ...)                                                                         \
    REAL(name)                                                                                                 \
    type moved;                                                                                                \
    int tries = 0;                                                                                             \
    do {                                                                                                       \
        touches;                                                                                               \
        moved = call(__VA_ARGS__);                                                                             \
    } while (moved == (type)-1 && errno == EFAULT && ++tries < 3);                                             \
    return moved;

EXPORT ssize_t read(int file, void *buffer, size_t size)
{
    MOVE(ssize_t, read, touch(buffer, size, 1, "read"), file, buffer, size)
}

EXPORT ssize_t write(int file, const void *buffer, size_t size)
{
    MOVE(ssize_t, write, touch(buffer, size, 0, "write"), file, buffer, size)
}

EXPORT ssize_t pread(int file, void *buffer, size_t size, off_t offset)
{
    MOVE(ssize_t, pread, touch(buffer, size, 1, "pread"), file, buffer, size, offset)
}

EXPORT ssize_t pread64(int file, void *buffer, size_t size, off64_t offset)
{
    MOVE(ssize_t, pread64, touch(buffer, size, 1, "pread64"), file, buffer, size, offset)
}

EXPORT ssize_t pwrite(int file, const void *buffer, size_t size, off_t offset)
{
    MOVE(ssize_t, pwrite, touch(buffer, size, 0, "pwrite"), file, buffer, size, offset)
}

EXPORT ssize_t pwrite64(int file, const void *buffer, size_t size, off64_t offset)
{
    MOVE(ssize_t, pwrite64, touch(buffer, size, 0, "pwrite64"), file, buffer, size, offset)
}

EXPORT ssize_t readv(int file, const struct iovec *parts, int count)
{
    MOVE(ssize_t, readv, touch_all(parts, count, 1, "readv"), file, parts, count)
}

EXPORT ssize_t writev(int file, const struct iovec *parts, int count)
{
    MOVE(ssize_t, writev, touch_all(parts, count, 0, "writev"), file, parts, count)
}

#define VECTORED(name, offset_type, is_write)                                                                  \
    EXPORT ssize_t name(int file, const struct iovec *parts, int count, offset_type offset)                    \
    {                                                                                                          \
        MOVE(ssize_t, name, touch_all(parts, count, is_write, #name), file, parts, count, offset)              \
    }

VECTORED(preadv, off_t, 1)
VECTORED(preadv64, off64_t, 1)
VECTORED(pwritev, off_t, 0)
VECTORED(pwritev64, off64_t, 0)

#define VECTORED_WITH_FLAGS(name, offset_type, is_write)                                                       \
    EXPORT ssize_t name(int file, const struct iovec *parts, int count, offset_type offset, int flags)         \
    {                                                                                                          \
        MOVE(ssize_t, name, touch_all(parts, count, is_write, #name), file, parts, count, offset, flags)       \
    }

VECTORED_WITH_FLAGS(preadv2, off_t, 1)
VECTORED_WITH_FLAGS(preadv64v2, off64_t, 1)
VECTORED_WITH_FLAGS(pwritev2, off_t, 0)
VECTORED_WITH_FLAGS(pwritev64v2, off64_t, 0)

EXPORT ssize_t getrandom(void *buffer, size_t size, unsigned int flags)
{
    MOVE(ssize_t, getrandom, touch(buffer, size, 1, "getrandom"), buffer, size, flags)
}

EXPORT ssize_t readlink(const char *restrict path, char *restrict buffer, size_t size)
{
    MOVE(ssize_t, readlink, touch(buffer, size, 1, "readlink"), path, buffer, size)
}

EXPORT ssize_t recv(int socket, void *buffer, size_t size, int flags)
{
    MOVE(ssize_t, recv, touch(buffer, size, 1, "recv"), socket, buffer, size, flags)
}

EXPORT ssize_t send(int socket, const void *buffer, size_t size, int flags)
{
    MOVE(ssize_t, send, touch(buffer, size, 0, "send"), socket, buffer, size, flags)
}

EXPORT ssize_t recvfrom(int socket, void *restrict buffer, size_t size, int flags, struct sockaddr *restrict from,
                        socklen_t *restrict length)
{
    MOVE(ssize_t, recvfrom, touch(buffer, size, 1, "recvfrom"), socket, buffer, size, flags, from, length)
}

EXPORT ssize_t sendto(int socket, const void *buffer, size_t size, int flags, const struct sockaddr *to,
                      socklen_t length)
{
    MOVE(ssize_t, sendto, touch(buffer, size, 0, "sendto"), socket, buffer, size, flags, to, length)
}

EXPORT ssize_t recvmsg(int socket, struct msghdr *message, int flags)
{
    MOVE(ssize_t, recvmsg, touch_all(message ? message->msg_iov : NULL, (int)(message ? message->msg_iovlen : 0), 1, "recvmsg"),
         socket, message, flags)
}

EXPORT ssize_t sendmsg(int socket, const struct msghdr *message, int flags)
{
    MOVE(ssize_t, sendmsg, touch_all(message ? message->msg_iov : NULL, (int)(message ? message->msg_iovlen : 0), 0, "sendmsg"),
         socket, message, flags)
}

/* For large blocks, stdio reads into and writes from the buffer of the caller directly. */
EXPORT size_t fread(void *restrict buffer, size_t size, size_t count, FILE *restrict file)
{
    REAL(fread)
    touch(buffer, size * count, 1, "fread");
    return call(buffer, size, count, file);
}

EXPORT size_t fwrite(const void *restrict buffer, size_t size, size_t count, FILE *restrict file)
{
    REAL(fwrite)
    touch(buffer, size * count, 0, "fwrite");
    return call(buffer, size, count, file);
}

/* ---- objects on which threads wait ----------------------------------------------------------------------- */

#define LOCK(name, type, parameters, ...)                                                                      \
    EXPORT int name parameters                                                                                 \
    {                                                                                                          \
        REAL(name)                                                                                             \
        use(lock, sizeof(type));                                                                               \
        return call(__VA_ARGS__);                                                                              \
    }

#define UNTIL const struct timespec *restrict until

LOCK(pthread_mutex_lock, pthread_mutex_t, (pthread_mutex_t *lock), lock)
LOCK(pthread_mutex_timedlock, pthread_mutex_t, (pthread_mutex_t *restrict lock, UNTIL), lock, until)
LOCK(pthread_mutex_clocklock, pthread_mutex_t, (pthread_mutex_t *restrict lock, clockid_t clock, UNTIL), lock, clock, until)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_t, (pthread_rwlock_t *lock), lock)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_t, (pthread_rwlock_t *lock), lock)
LOCK(pthread_rwlock_timedrdlock, pthread_rwlock_t, (pthread_rwlock_t *restrict lock, UNTIL), lock, until)
LOCK(pthread_rwlock_timedwrlock, pthread_rwlock_t, (pthread_rwlock_t *restrict lock, UNTIL), lock, until)
LOCK(pthread_rwlock_clockrdlock, pthread_rwlock_t, (pthread_rwlock_t *restrict lock, clockid_t clock, UNTIL), lock, clock,
     until)
LOCK(pthread_rwlock_clockwrlock, pthread_rwlock_t, (pthread_rwlock_t *restrict lock, clockid_t clock, UNTIL), lock, clock,
     until)

EXPORT int pthread_cond_signal(pthread_cond_t *condition)
{
    REAL(pthread_cond_signal)
    use(condition, sizeof *condition);
    release(condition);
    return call(condition);
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *condition)
{
    REAL(pthread_cond_broadcast)
    use(condition, sizeof *condition);
    release(condition);
    return call(condition);
}

#define WAIT(name, ...)                                                                                        \
    REAL(name)                                                                                                 \
    use(condition, sizeof *condition);                                                                         \
    use(mutex, sizeof *mutex);                                                                                 \
    int code = call(__VA_ARGS__);                                                                              \
    if (code == 0) {                                                                                           \
        acquire(condition);                                                                                    \
    }                                                                                                          \
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
    use(semaphore, sizeof *semaphore);
    release(semaphore);
    return call(semaphore);
}

#define TAKE(name, ...)                                                                                        \
    REAL(name)                                                                                                 \
    use(semaphore, sizeof *semaphore);                                                                         \
    int code = call(__VA_ARGS__);                                                                              \
    if (code == 0) {                                                                                           \
        acquire(semaphore);                                                                                    \
    }                                                                                                          \
    return code;

EXPORT int sem_wait(sem_t *semaphore)
{
    TAKE(sem_wait, semaphore)
}

EXPORT int sem_trywait(sem_t *semaphore)
{
    TAKE(sem_trywait, semaphore)
}

EXPORT int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until)
{
    TAKE(sem_timedwait, semaphore, until)
}

EXPORT int sem_clockwait(sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict until)
{
    TAKE(sem_clockwait, semaphore, clock, until)
}

EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
    REAL(pthread_barrier_wait)
    use(barrier, sizeof *barrier);
    release(barrier);
    int code = call(barrier);
    acquire(barrier);
    return code;
}

/* ---- threads ------------------------------------------------------------------------------------------- */

struct start {
    void *(*run)(void *);
    void *argument;
};

/* Runs when a thread ends, also by pthread_exit() or cancellation. */
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
    /* Unlike release(), also in a single-threaded process, because the new thread acquires this clock. */
    struct object *object = object_at(start);
    join(&object->clock, &now);
    if (me < THREADS && object->clock.at[me] < now.at[me]) {
        object->clock.at[me] = now.at[me];
    }
    leave(object);
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

/* Returns 1 if the checker handles the signal. */
static int is_fault(int signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGTRAP;
}

EXPORT int sigaction(int number, const struct sigaction *restrict action, struct sigaction *restrict old)
{
    REAL(sigaction)
    int code = call(number, action, old);
    if (code == 0 && action != NULL && is_fault(number)) {
        tell(&softacl_interposer_handler);
    }
    return code;
}

EXPORT __sighandler_t signal(int number, __sighandler_t handler)
{
    REAL(signal)
    __sighandler_t old = call(number, handler);
    if (old != SIG_ERR && is_fault(number)) {
        tell(&softacl_interposer_handler);
    }
    return old;
}

#define MASK(name)                                                                                             \
    EXPORT int name(int how, const sigset_t *restrict set, sigset_t *restrict old)                             \
    {                                                                                                          \
        REAL(name)                                                                                             \
        sigset_t open;                                                                                         \
        if (set != NULL && how != SIG_UNBLOCK) {                                                               \
            open = *set;                                                                                       \
            sigdelset(&open, SIGSEGV);                                                                         \
            sigdelset(&open, SIGBUS);                                                                          \
            sigdelset(&open, SIGTRAP);                                                                         \
            set = &open;                                                                                       \
        }                                                                                                      \
        return call(how, set, old);                                                                            \
    }

MASK(sigprocmask)
MASK(pthread_sigmask)

#define LEAVE(name)                                                                                            \
    EXPORT _Noreturn void name(int code)                                                                       \
    {                                                                                                          \
        REAL(name)                                                                                             \
        tell(&softacl_interposer_end);                                                                            \
        call(code);                                                                                            \
        __builtin_unreachable();                                                                               \
    }

LEAVE(_exit)
LEAVE(_Exit)
LEAVE(quick_exit)
