/* Accesses bytes next to those in flight, while the program's signals, handlers and masks interfere. */
#include "runtime.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

enum { IN_FLIGHT = 64, NEXT_TO = 3000, ROUNDS = 100, PIECES = 400 };

static sigjmp_buf back;
static volatile int must_jump, ticks;

static void on_tick(int number)
{
    (void)number;
    ticks++;
    host[NEXT_TO]++;
    if (must_jump) {
        siglongjmp(back, 1);
    }
}

static void start_timer(long microseconds)
{
    struct itimerval time = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &time, NULL);
}

/* A handler accesses the page that the interrupted code accesses, and sometimes does not return. */
static int timer(void)
{
    signal(SIGALRM, on_tick);
    for (volatile int round = 0; round < ROUNDS; round++) {
        /* Many pieces make an access slow. */
        for (int i = 0; i < PIECES; i++) {
            copy(host + IN_FLIGHT + 4 * i, (char *)device + 4 * i, 2, DEVICE_TO_HOST);
        }
        must_jump = round % 2;
        if (sigsetjmp(back, 1) == 0) {
            int first = ticks;
            start_timer(500);
            for (volatile int i = 0; must_jump || ticks == first; i++) {
                host[NEXT_TO + 1 + i % 100] = (char)i;
            }
        }
        start_timer(0);
        synchronize();
    }
    return host[NEXT_TO] == (char)(1 + ticks) ? finish() : 81;
}

static void *write_next_to(void *blocks_signals)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(blocks_signals != NULL ? SIG_BLOCK : SIG_UNBLOCK, &all, NULL);
    host[NEXT_TO] = 5;
    return NULL;
}

/* A thread that blocks every signal. */
static int blocked(void)
{
    copy(host, device, IN_FLIGHT, DEVICE_TO_HOST);
    pthread_t thread;
    pthread_create(&thread, NULL, write_next_to, host);
    pthread_join(thread, NULL);
    synchronize();
    return host[NEXT_TO] == 5 ? finish() : 82;
}

static void on_fault(int number)
{
    (void)number;
    _exit(55);
}

/* The program installs a handler while a copy is in flight. It still receives the faults of the program. */
static int late_handler(void)
{
    copy(host, device, IN_FLIGHT, DEVICE_TO_HOST);
    signal(SIGSEGV, on_fault);
    write_next_to(NULL);
    struct sigaction action = {.sa_handler = on_fault};
    sigaction(SIGSEGV, &action, NULL);
    write_next_to(NULL);
    synchronize();
    if (host[NEXT_TO] != 5 || finish() != 0) {
        return 83;
    }
    *(volatile int *)8 = 1;
    return 84;
}

int main(int argc, char **argv)
{
    const char *mode = argv[argc - 1];
    begin();
    return strcmp(mode, "timer") == 0 ? timer() : strcmp(mode, "blocked") == 0 ? blocked() : late_handler();
}
