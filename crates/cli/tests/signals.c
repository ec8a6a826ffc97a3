/* Touches bytes beside those in flight while signals, handlers and masks of the program come in between. */
#include "runtime.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

enum { FLOWN = 64, BESIDE = 3000, ROUNDS = 100, PIECES = 400 };

static sigjmp_buf back;
static volatile int has_to_jump, ticks;

static void ticked(int number)
{
    (void)number;
    ticks++;
    host[BESIDE]++;
    if (has_to_jump) {
        siglongjmp(back, 1);
    }
}

static void every(long microseconds)
{
    struct itimerval time = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &time, NULL);
}

/* A handler touches the page that the interrupted code touches, and sometimes does not come back. */
static int timer(void)
{
    signal(SIGALRM, ticked);
    for (volatile int round = 0; round < ROUNDS; round++) {
        /* Many pieces make a touch take long. */
        for (int i = 0; i < PIECES; i++) {
            copy(host + FLOWN + 4 * i, (char *)device + 4 * i, 2, DEVICE_TO_HOST);
        }
        has_to_jump = round % 2;
        if (sigsetjmp(back, 1) == 0) {
            int begun = ticks;
            every(500);
            for (volatile int i = 0; has_to_jump || ticks == begun; i++) {
                host[BESIDE + 1 + i % 100] = (char)i;
            }
        }
        every(0);
        synchronize();
    }
    return host[BESIDE] == (char)(1 + ticks) ? finish() : 81;
}

static void *write_beside(void *is_deaf)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(is_deaf != NULL ? SIG_BLOCK : SIG_UNBLOCK, &all, NULL);
    host[BESIDE] = 5;
    return NULL;
}

/* A thread that blocks every signal. */
static int deaf(void)
{
    copy(host, device, FLOWN, DEVICE_TO_HOST);
    pthread_t thread;
    pthread_create(&thread, NULL, write_beside, host);
    pthread_join(thread, NULL);
    synchronize();
    return host[BESIDE] == 5 ? finish() : 82;
}

static void own(int number)
{
    (void)number;
    _exit(55);
}

/* The program's own handler comes when a copy is in flight. Faults that are the program's are still its own. */
static int late_handler(void)
{
    copy(host, device, FLOWN, DEVICE_TO_HOST);
    signal(SIGSEGV, own);
    write_beside(NULL);
    struct sigaction action = {.sa_handler = own};
    sigaction(SIGSEGV, &action, NULL);
    write_beside(NULL);
    synchronize();
    if (host[BESIDE] != 5 || finish() != 0) {
        return 83;
    }
    *(volatile int *)8 = 1;
    return 84;
}

int main(int argc, char **argv)
{
    const char *what = argv[argc - 1];
    begin();
    return strcmp(what, "timer") == 0 ? timer() : strcmp(what, "deaf") == 0 ? deaf() : late_handler();
}
