/*
 * System calls that take or return small structs: readiness of files, clocks and timers, signals, limits and identity
 * of the process. Calls that block keep the pages of their structs open until they return.
 */
#include "interposer.h"

#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* The kernel uses the first word of a signal set. */
#define SET(set, use) BYTES(set, sizeof(uint64_t), use)

/* ---- readiness of files ------------------------------------------------------------------------------------------ */

#define POLLED BYTES(files, count * sizeof *files, WRITE)

EXPORT int poll(struct pollfd *files, nfds_t count, int timeout)
{
    CALL(int, poll, (POLLED), files, count, timeout)
}

EXPORT int ppoll(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *set)
{
    CALL(int, ppoll, (POLLED, IN(timeout), SET(set, READ)), files, count, timeout, set)
}

/* Variants of _FORTIFY_SOURCE: only those that would end the program are forwarded. */
int __poll_chk(struct pollfd *files, nfds_t count, int timeout, size_t room);
int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *set, size_t room);

EXPORT int __poll_chk(struct pollfd *files, nfds_t count, int timeout, size_t room)
{
    REAL(__poll_chk)
    return count <= room / sizeof *files ? poll(files, count, timeout) : call(files, count, timeout, room);
}

EXPORT int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *set,
                       size_t room)
{
    REAL(__ppoll_chk)
    return count <= room / sizeof *files ? ppoll(files, count, timeout, set) : call(files, count, timeout, set, room);
}

/* Sets of files are used in whole words, up to the highest file. */
#define FILES(set) BYTES(set, count <= 0 ? 0 : ((size_t)count + 63) / 64 * 8, WRITE)

EXPORT int select(int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict urgent,
                  struct timeval *restrict timeout)
{
    CALL(int, select, (FILES(in), FILES(out), FILES(urgent), OUT(timeout)), count, in, out, urgent, timeout)
}

EXPORT int pselect(int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict urgent,
                   const struct timespec *restrict timeout, const sigset_t *restrict set)
{
    CALL(int, pselect, (FILES(in), FILES(out), FILES(urgent), IN(timeout), SET(set, READ)), count, in, out, urgent,
         timeout, set)
}

EXPORT int epoll_ctl(int file, int operation, int other, struct epoll_event *event)
{
    CALL(int, epoll_ctl, (BYTES(event, operation == EPOLL_CTL_DEL ? 0 : sizeof *event, READ)), file, operation, other,
         event)
}

#define EVENTS BYTES(events, count <= 0 ? 0 : (size_t)count * sizeof *events, WRITE)
#define USED_EVENTS all[0].used = (size_t)result * sizeof *events

EXPORT int epoll_wait(int file, struct epoll_event *events, int count, int timeout)
{
    CALL_ADJUSTED(int, epoll_wait, result >= 0, (EVENTS), USED_EVENTS, file, events, count, timeout)
}

EXPORT int epoll_pwait(int file, struct epoll_event *events, int count, int timeout, const sigset_t *set)
{
    CALL_ADJUSTED(int, epoll_pwait, result >= 0, (EVENTS, SET(set, READ)), USED_EVENTS, file, events, count, timeout,
                  set)
}

/* Since glibc 2.35. Defined always: a portable build may run on a newer one. */
EXPORT int epoll_pwait2(int file, struct epoll_event *events, int count, const struct timespec *timeout,
                        const sigset_t *set)
{
    CALL_ADJUSTED(int, epoll_pwait2, result >= 0, (EVENTS, IN(timeout), SET(set, READ)), USED_EVENTS, file, events,
                  count, timeout, set)
}

/* ---- clocks and timers ------------------------------------------------------------------------------------------- */

/* A function that returns a negative value if it fails. The lists are in parentheses. */
#define STRUCTS(name, parameters, memories, arguments)                                                                 \
    EXPORT int name parameters                                                                                         \
    {                                                                                                                  \
        CALL(int, name, memories, UNWRAP arguments)                                                                    \
    }

STRUCTS(clock_gettime, (clockid_t clock, struct timespec *time), (OUT(time)), (clock, time))
STRUCTS(clock_getres, (clockid_t clock, struct timespec *time), (OUT(time)), (clock, time))
STRUCTS(clock_settime, (clockid_t clock, const struct timespec *time), (IN(time)), (clock, time))
STRUCTS(gettimeofday, (struct timeval *restrict time, void *restrict zone), (OUT(time)), (time, zone))
STRUCTS(getitimer, (__itimer_which_t which, struct itimerval *timer), (OUT(timer)), (which, timer))
STRUCTS(setitimer, (__itimer_which_t which, const struct itimerval *restrict timer, struct itimerval *restrict old),
        (IN(timer), OUT(old)), (which, timer, old))
STRUCTS(timer_gettime, (timer_t id, struct itimerspec *timer), (OUT(timer)), (id, timer))
STRUCTS(timer_settime,
        (timer_t id, int flags, const struct itimerspec *restrict timer, struct itimerspec *restrict old),
        (IN(timer), OUT(old)), (id, flags, timer, old))
STRUCTS(timerfd_gettime, (int file, struct itimerspec *timer), (OUT(timer)), (file, timer))
STRUCTS(timerfd_settime, (int file, int flags, const struct itimerspec *timer, struct itimerspec *old),
        (IN(timer), OUT(old)), (file, flags, timer, old))
STRUCTS(adjtimex, (struct timex *state), (OUT(state)), (state))

EXPORT clock_t times(struct tms *times_used)
{
    CALL_ADJUSTED(clock_t, times, result != (clock_t)-1, (OUT(times_used)), (void)0, times_used)
}

/* A sleep that a signal ended writes the rest of its time. */
#define SLEEP(name, was_interrupted, ...)                                                                              \
    CALL_ADJUSTED(int, name, 1, (IN(time), OUT(rest)), all[1].used = (was_interrupted) ? sizeof *rest : 0, __VA_ARGS__)

EXPORT int nanosleep(const struct timespec *time, struct timespec *rest)
{
    SLEEP(nanosleep, result < 0 && errno == EINTR, time, rest)
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *rest)
{
    SLEEP(clock_nanosleep, result == EINTR && (flags & TIMER_ABSTIME) == 0, clock, flags, time, rest)
}

EXPORT int thrd_sleep(const struct timespec *time, struct timespec *rest)
{
    SLEEP(thrd_sleep, result == -1, time, rest)
}

/* ---- signals ----------------------------------------------------------------------------------------------------- */

STRUCTS(sigpending, (sigset_t *set), (SET(set, WRITE)), (set))
STRUCTS(sigsuspend, (const sigset_t *set), (SET(set, WHOLE)), (set))
STRUCTS(sigwaitinfo, (const sigset_t *restrict set, siginfo_t *restrict info), (SET(set, READ), OUT(info)), (set, info))
STRUCTS(sigtimedwait,
        (const sigset_t *restrict set, siginfo_t *restrict info, const struct timespec *restrict timeout),
        (SET(set, READ), IN(timeout), OUT(info)), (set, info, timeout))

EXPORT int sigaltstack(const stack_t *restrict stack, stack_t *restrict old)
{
    if (stack != NULL && (stack->ss_flags & SS_DISABLE) == 0) {
        report_stack(stack->ss_sp, stack->ss_size);
    }
    CALL(int, sigaltstack, (IN(stack), OUT(old)), stack, old)
}

STRUCTS(signalfd, (int file, const sigset_t *set, int flags), (SET(set, READ)), (file, set, flags))

EXPORT int sigwait(const sigset_t *restrict set, int *restrict number)
{
    CALL_CODE(sigwait, (SET(set, READ), OUT(number)), set, number)
}

/* ---- System V messages and semaphores ---------------------------------------------------------------------------- */

EXPORT int msgsnd(int queue, const void *message, size_t size, int flags)
{
    CALL(int, msgsnd, (BYTES(message, sizeof(long) + size, READ)), queue, message, size, flags)
}

EXPORT ssize_t msgrcv(int queue, void *message, size_t size, long type, int flags)
{
    CALL_ADJUSTED(ssize_t, msgrcv, result >= 0, (BYTES(message, sizeof(long) + size, WRITE)),
                  all[0].used = sizeof(long) + (size_t)result, queue, message, size, type, flags)
}

EXPORT int semop(int set, struct sembuf *operations, size_t count)
{
    CALL(int, semop, (BYTES(operations, count * sizeof *operations, READ)), set, operations, count)
}

/* ---- limits and identity of the process -------------------------------------------------------------------------- */

STRUCTS(getrusage, (__rusage_who_t who, struct rusage *usage), (OUT(usage)), (who, usage))
STRUCTS(getrlimit, (__rlimit_resource_t resource, struct rlimit *limit), (OUT(limit)), (resource, limit))
STRUCTS(getrlimit64, (__rlimit_resource_t resource, struct rlimit64 *limit), (OUT(limit)), (resource, limit))
STRUCTS(setrlimit, (__rlimit_resource_t resource, const struct rlimit *limit), (IN(limit)), (resource, limit))
STRUCTS(setrlimit64, (__rlimit_resource_t resource, const struct rlimit64 *limit), (IN(limit)), (resource, limit))
STRUCTS(prlimit, (pid_t process, enum __rlimit_resource resource, const struct rlimit *limit, struct rlimit *old),
        (IN(limit), OUT(old)), (process, resource, limit, old))
STRUCTS(prlimit64,
        (pid_t process, enum __rlimit_resource resource, const struct rlimit64 *limit, struct rlimit64 *old),
        (IN(limit), OUT(old)), (process, resource, limit, old))
STRUCTS(uname, (struct utsname *name), (OUT(name)), (name))
STRUCTS(sysinfo, (struct sysinfo *info), (OUT(info)), (info))
STRUCTS(getcpu, (unsigned int *cpu, unsigned int *node), (OUT(cpu), OUT(node)), (cpu, node))
STRUCTS(getresuid, (uid_t * real, uid_t *effective, uid_t *saved), (OUT(real), OUT(effective), OUT(saved)),
        (real, effective, saved))
STRUCTS(getresgid, (gid_t * real, gid_t *effective, gid_t *saved), (OUT(real), OUT(effective), OUT(saved)),
        (real, effective, saved))
STRUCTS(setgroups, (size_t count, const gid_t *groups), (BYTES(groups, count * sizeof *groups, READ)), (count, groups))

EXPORT int getgroups(int count, gid_t *groups)
{
    CALL_ADJUSTED(int, getgroups, result >= 0, (BYTES(groups, count <= 0 ? 0 : (size_t)count * sizeof *groups, WRITE)),
                  all[0].used = (size_t)result * sizeof *groups, count, groups)
}

int __getgroups_chk(int count, gid_t *groups, size_t room);

EXPORT int __getgroups_chk(int count, gid_t *groups, size_t room)
{
    REAL(__getgroups_chk)
    return count >= 0 && (size_t)count <= room / sizeof *groups ? getgroups(count, groups) : call(count, groups, room);
}

/* ---- scheduling and names of threads ----------------------------------------------------------------------------- */

STRUCTS(sched_getaffinity, (pid_t thread, size_t size, cpu_set_t *set), (BYTES(set, size, WRITE)), (thread, size, set))
STRUCTS(sched_setaffinity, (pid_t thread, size_t size, const cpu_set_t *set), (BYTES(set, size, READ)),
        (thread, size, set))
STRUCTS(sched_getparam, (pid_t thread, struct sched_param *settings), (OUT(settings)), (thread, settings))
STRUCTS(sched_setparam, (pid_t thread, const struct sched_param *settings), (IN(settings)), (thread, settings))
STRUCTS(sched_setscheduler, (pid_t thread, int policy, const struct sched_param *settings), (IN(settings)),
        (thread, policy, settings))
STRUCTS(sched_rr_get_interval, (pid_t thread, struct timespec *interval), (OUT(interval)), (thread, interval))

#define THREAD(name, parameters, memories, arguments)                                                                  \
    EXPORT int name parameters                                                                                         \
    {                                                                                                                  \
        CALL_CODE(name, memories, UNWRAP arguments)                                                                    \
    }

THREAD(pthread_getaffinity_np, (pthread_t thread, size_t size, cpu_set_t *set), (BYTES(set, size, WRITE)),
       (thread, size, set))
THREAD(pthread_setaffinity_np, (pthread_t thread, size_t size, const cpu_set_t *set), (BYTES(set, size, READ)),
       (thread, size, set))
THREAD(pthread_setschedparam, (pthread_t thread, int policy, const struct sched_param *settings), (IN(settings)),
       (thread, policy, settings))
THREAD(pthread_setname_np, (pthread_t thread, const char *name), (TEXT(name)), (thread, name))

EXPORT int pthread_getname_np(pthread_t thread, char *buffer, size_t size)
{
    CALL_ADJUSTED(int, pthread_getname_np, result == 0, (BYTES(buffer, size, WRITE)),
                  all[0].used = result == 0 ? watched_text(buffer) : 0, thread, buffer, size)
}
