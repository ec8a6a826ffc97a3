// soc: Ascend910B
// softacl-only
// sanitize: address (ThreadSanitizer delays signals)
/* Small structs of clocks, signals, limits and threads may be in the page of a copy. */
#include "../expect.h"
#include "neighbor.h"
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/utsname.h>

#define OK(call) EXPECT_TRUE((call) >= 0, "%s: %s", #call, strerror(errno))

static void use_clocks(char *page)
{
    struct timespec *time = (struct timespec *)(page + FIRST - 2 * sizeof *time);
    struct timeval *old_time = (struct timeval *)page;
    struct itimerval *old_timer = (struct itimerval *)(page + 64);
    struct itimerspec *timer = (struct itimerspec *)(page + 128);
    struct tms *used = (struct tms *)(page + 256);
    timer_t id;
    struct sigevent none = {.sigev_notify = SIGEV_NONE};
    EXPECT_TRUE(clock_gettime(CLOCK_MONOTONIC, time + 1) == 0 && time[1].tv_sec > 0, "clock_gettime");
    OK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, time + 1));
    OK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, time + 1));
    OK(clock_getres(CLOCK_PROCESS_CPUTIME_ID, time + 1));
    EXPECT_TRUE(gettimeofday(old_time, NULL) == 0 && old_time->tv_sec > 0, "gettimeofday");
    *time = (struct timespec){0, 100000};
    EXPECT_TRUE(nanosleep(time, time + 1) == 0, "nanosleep: %s", strerror(errno));
    EXPECT_TRUE(nanosleep(time, time) == 0, "nanosleep: %s", strerror(errno));
    EXPECT_TRUE(clock_nanosleep(CLOCK_MONOTONIC, 0, time, time + 1) == 0, "clock_nanosleep");
    EXPECT_TRUE(times(used) != (clock_t)-1, "times: %s", strerror(errno));
    memset(old_timer, 0, 2 * sizeof *old_timer);
    OK(getitimer(ITIMER_REAL, old_timer));
    OK(setitimer(ITIMER_REAL, old_timer, old_timer + 1));
    memset(timer, 0, 2 * sizeof *timer);
    timer->it_value.tv_sec = 100;
    int file = timerfd_create(CLOCK_MONOTONIC, 0);
    OK(timerfd_settime(file, 0, timer, timer + 1));
    EXPECT_TRUE(timerfd_gettime(file, timer + 1) == 0 && timer[1].it_value.tv_sec >= 99, "timerfd_gettime");
    OK(close(file));
    OK(timer_create(CLOCK_MONOTONIC, &none, &id));
    OK(timer_settime(id, 0, timer, timer + 1));
    EXPECT_TRUE(timer_gettime(id, timer + 1) == 0 && timer[1].it_value.tv_sec >= 99, "timer_gettime");
    OK(timer_delete(id));
}

static void use_signals(char *page)
{
    sigset_t *set = (sigset_t *)page, *old = (sigset_t *)(page + FIRST - 8);
    siginfo_t *info = (siginfo_t *)(page + 256);
    struct timespec *timeout = (struct timespec *)(page + 384);
    int *number = (int *)(page + 400);
    stack_t *stack = (stack_t *)(page + 512);
    *timeout = (struct timespec){1, 0};
    sigemptyset(set);
    sigaddset(set, SIGUSR2);
    OK(sigprocmask(SIG_BLOCK, set, old));
    raise(SIGUSR2);
    EXPECT_TRUE(sigpending(old) == 0 && (*(uint64_t *)old >> (SIGUSR2 - 1) & 1) == 1, "sigpending: %s",
                strerror(errno));
    EXPECT_TRUE(sigtimedwait(set, info, timeout) == SIGUSR2 && info->si_signo == SIGUSR2, "sigtimedwait: %s",
                strerror(errno));
    raise(SIGUSR2);
    EXPECT_TRUE(sigwaitinfo(set, info) == SIGUSR2, "sigwaitinfo: %s", strerror(errno));
    raise(SIGUSR2);
    EXPECT_TRUE(sigwait(set, number) == 0 && *number == SIGUSR2, "sigwait");
    int file = signalfd(-1, set, 0);
    EXPECT_TRUE(file >= 0 && close(file) == 0, "signalfd: %s", strerror(errno));
    EXPECT_TRUE(pthread_sigmask(SIG_UNBLOCK, set, old) == 0, "pthread_sigmask");
    OK(sigaltstack(NULL, stack));
    OK(sigaltstack(stack, stack + 1));
}

static void use_limits(char *page)
{
    struct rusage *usage = (struct rusage *)page;
    struct rlimit *limit = (struct rlimit *)(page + FIRST - sizeof *limit);
    struct utsname *name = (struct utsname *)page;
    struct sysinfo *info = (struct sysinfo *)page;
    uid_t *ids = (uid_t *)page;
    unsigned char *pages = (unsigned char *)(page + FIRST - 4);
    EXPECT_TRUE(getrusage(RUSAGE_SELF, usage) == 0 && usage->ru_maxrss > 0, "getrusage: %s", strerror(errno));
    EXPECT_TRUE(getrlimit(RLIMIT_NOFILE, limit) == 0 && limit->rlim_cur > 0, "getrlimit: %s", strerror(errno));
    OK(setrlimit(RLIMIT_NOFILE, limit));
    OK(prlimit(0, RLIMIT_NOFILE, limit, limit));
    EXPECT_TRUE(uname(name) == 0 && strcmp(name->sysname, "Linux") == 0, "uname: %s", strerror(errno));
    EXPECT_TRUE(sysinfo(info) == 0 && info->totalram > 0, "sysinfo: %s", strerror(errno));
    OK(getresuid(ids, ids + 1, ids + 2));
    OK(getresgid(ids, ids + 1, ids + 2));
    OK(getgroups(100, ids));
    OK(getentropy(page + FIRST - 256, 256));
    EXPECT_TRUE(gethostname(page, 256) == 0, "gethostname: %s", strerror(errno));
    char *memory = (char *)mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory[0] = 1;
    EXPECT_TRUE(mincore(memory, 4 * PAGE, pages) == 0 && (pages[0] & 1) == 1, "mincore: %s", strerror(errno));
    munmap(memory, 4 * PAGE);
}

static void use_threads(char *page)
{
    cpu_set_t *set = (cpu_set_t *)(page + FIRST - sizeof *set);
    struct sched_param *settings = (struct sched_param *)page;
    struct timespec *until = (struct timespec *)(page + 64);
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    sem_t semaphore;
    EXPECT_TRUE(sched_getaffinity(0, sizeof *set, set) == 0 && CPU_COUNT(set) > 0, "sched_getaffinity: %s",
                strerror(errno));
    OK(sched_setaffinity(0, sizeof *set, set));
    EXPECT_TRUE(pthread_getaffinity_np(pthread_self(), sizeof *set, set) == 0, "pthread_getaffinity_np");
    EXPECT_TRUE(pthread_setaffinity_np(pthread_self(), sizeof *set, set) == 0, "pthread_setaffinity_np");
    OK(sched_getparam(0, settings));
    OK(sched_setscheduler(0, SCHED_OTHER, settings));
    OK(sched_rr_get_interval(0, until));
    strcpy(page, "beside");
    EXPECT_TRUE(pthread_setname_np(pthread_self(), page) == 0, "pthread_setname_np");
    EXPECT_TRUE(pthread_getname_np(pthread_self(), page + 32, 16) == 0 && strcmp(page + 32, "beside") == 0,
                "pthread_getname_np");
    sem_init(&semaphore, 0, 0);
    clock_gettime(CLOCK_REALTIME, until);
    until->tv_nsec = (until->tv_nsec + 1000000) % 1000000000;
    pthread_mutex_lock(&mutex);
    EXPECT_TRUE(pthread_cond_timedwait(&condition, &mutex, until) == ETIMEDOUT, "pthread_cond_timedwait");
    EXPECT_TRUE(pthread_mutex_timedlock(&mutex, until) == ETIMEDOUT, "pthread_mutex_timedlock");
    EXPECT_TRUE(sem_timedwait(&semaphore, until) == -1 && errno == ETIMEDOUT, "sem_timedwait: %s", strerror(errno));
    pthread_mutex_unlock(&mutex);
    sem_destroy(&semaphore);
}

int main(void)
{
    struct neighbor n = neighbor_begin();
    char *pages[] = {n.to, n.from};
    for (int i = 0; i < 2; i++) {
        use_clocks(pages[i]);
        use_signals(pages[i]);
        use_limits(pages[i]);
        use_threads(pages[i]);
    }
    neighbor_end(&n);
    return finish();
}
