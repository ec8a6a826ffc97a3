// soc: Ascend910B
// softacl-only
/* Lists of files to wait for, and the memory of requests, may be in the page of a copy. */
#include "../expect.h"
#include "neighbor.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <termios.h>

#define OK(call) EXPECT_TRUE((call) >= 0, "%s: %s", #call, strerror(errno))

static void poll_files(char *page, const int ends[2])
{
    struct pollfd *files = (struct pollfd *)(page + FIRST - 2 * sizeof *files);
    struct timespec *timeout = (struct timespec *)page;
    sigset_t *set = (sigset_t *)(page + 64);
    files[0] = (struct pollfd){.fd = ends[0], .events = POLLIN};
    files[1] = (struct pollfd){.fd = ends[1], .events = POLLOUT};
    EXPECT_TRUE(poll(files, 2, 1000) == 1 && files[0].revents == 0 && files[1].revents == POLLOUT, "poll: %s",
                strerror(errno));
    EXPECT_TRUE(poll(files, 1, 1) == 0, "poll: %s", strerror(errno));
    timeout->tv_sec = 0;
    timeout->tv_nsec = 1000000;
    sigemptyset(set);
    EXPECT_TRUE(ppoll(files, 1, timeout, set) == 0, "ppoll: %s", strerror(errno));
    files[1].revents = 0;
    EXPECT_TRUE(ppoll(files, 2, timeout, set) == 1 && files[1].revents == POLLOUT, "ppoll: %s", strerror(errno));
}

static void select_files(char *page, const int ends[2])
{
    fd_set *in = (fd_set *)page, *out = (fd_set *)(page + 128);
    struct timeval *timeout = (struct timeval *)(page + 256);
    struct timespec *precise = (struct timespec *)(page + 272);
    sigset_t *set = (sigset_t *)(page + 288);
    for (int i = 0; i < 2; i++) {
        FD_ZERO(in);
        FD_ZERO(out);
        FD_SET(ends[0], in);
        FD_SET(ends[1], out);
        *timeout = (struct timeval){1, 0};
        *precise = (struct timespec){1, 0};
        sigemptyset(set);
        int count = i == 0 ? select(ends[1] + 1, in, out, NULL, timeout)
                           : pselect(ends[1] + 1, in, out, NULL, precise, set);
        EXPECT_TRUE(count == 1 && FD_ISSET(ends[1], out) && !FD_ISSET(ends[0], in), "select %d: %d, %s", i, count,
                    strerror(errno));
    }
}

/* The room of the events reaches into the copy. */
static void wait_for_events(char *page, const int ends[2])
{
    struct epoll_event *event = (struct epoll_event *)page;
    struct epoll_event *events = (struct epoll_event *)(page + FIRST - 2 * sizeof *events);
    sigset_t *set = (sigset_t *)(page + 64);
    int file = epoll_create1(0);
    event->events = EPOLLOUT;
    event->data.u64 = 0x1234567890;
    sigemptyset(set);
    OK(epoll_ctl(file, EPOLL_CTL_ADD, ends[1], event));
    OK(epoll_ctl(file, EPOLL_CTL_MOD, ends[1], event));
    EXPECT_TRUE(epoll_wait(file, events, 40, 1000) == 1 && events->data.u64 == 0x1234567890, "epoll_wait: %s",
                strerror(errno));
    events->data.u64 = 0;
    EXPECT_TRUE(epoll_pwait(file, events, 40, 1000, set) == 1 && events->data.u64 == 0x1234567890, "epoll_pwait: %s",
                strerror(errno));
    EXPECT_TRUE(epoll_ctl(file, EPOLL_CTL_DEL, ends[1], NULL) == 0 && close(file) == 0, "epoll_ctl");
}

static void make_requests(char *page, const int ends[2])
{
    int *number = (int *)(page + FIRST - 4), terminal = posix_openpt(O_RDWR | O_NOCTTY);
    struct winsize *window = (struct winsize *)page;
    struct flock *lock = (struct flock *)(page + 64);
    struct f_owner_ex *owner = (struct f_owner_ex *)(page + 128);
    EXPECT_TRUE(write(ends[1], "seven..", 7) == 7 && ioctl(ends[0], FIONREAD, number) == 0 && *number == 7,
                "FIONREAD: %s", strerror(errno));
    *number = 1;
    EXPECT_TRUE(ioctl(ends[0], FIONBIO, number) == 0 && (fcntl(ends[0], F_GETFL) & O_NONBLOCK) != 0, "FIONBIO: %s",
                strerror(errno));
    EXPECT_TRUE(read(ends[0], page, 100) == 7, "read");
    EXPECT_TRUE(ioctl(ends[0], FIOCLEX) == 0 && fcntl(ends[0], F_GETFD) == FD_CLOEXEC, "FIOCLEX: %s", strerror(errno));
    if (terminal >= 0) {
        *window = (struct winsize){.ws_row = 31, .ws_col = 77};
        OK(ioctl(terminal, TIOCSWINSZ, window));
        memset(window, 0, sizeof *window);
        EXPECT_TRUE(ioctl(terminal, TIOCGWINSZ, window) == 0 && window->ws_col == 77, "TIOCGWINSZ: %s",
                    strerror(errno));
        OK(ioctl(terminal, TCGETS, page + AFTER));
        OK(ioctl(terminal, TCSETS, page + AFTER));
        EXPECT_TRUE(ioctl(terminal, TIOCGPTN, number) == 0, "TIOCGPTN: %s", strerror(errno));
        OK(close(terminal));
    }
    int file = open("/proc/self/exe", O_RDONLY);
    *lock = (struct flock){.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
    OK(fcntl(file, F_SETLK, lock));
    EXPECT_TRUE(fcntl(file, F_GETLK, lock) == 0 && lock->l_type == F_UNLCK, "F_GETLK: %s", strerror(errno));
    owner->type = F_OWNER_PID;
    owner->pid = getpid();
    OK(fcntl(ends[0], F_SETOWN_EX, owner));
    owner->pid = 0;
    EXPECT_TRUE(fcntl(ends[0], F_GETOWN_EX, owner) == 0 && owner->pid == getpid(), "F_GETOWN_EX");
    OK(close(file));
    strcpy(page + FIRST - 7, "beside");
    OK(prctl(PR_SET_NAME, page + FIRST - 7, 0, 0, 0));
    EXPECT_TRUE(prctl(PR_GET_NAME, page + 256, 0, 0, 0) == 0 && strcmp(page + 256, "beside") == 0, "PR_GET_NAME: %s",
                strerror(errno));
}

static void call_directly(char *page, const int ends[2])
{
    struct timespec *time = (struct timespec *)(page + FIRST - sizeof *time);
    struct utsname *name = (struct utsname *)(page + 64);
    int directory = open("/proc/self/fd", O_RDONLY | O_DIRECTORY), *number = (int *)page;
    EXPECT_TRUE(syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, time) == 0, "SYS_clock_gettime: %s",
                strerror(errno));
    EXPECT_TRUE(syscall(SYS_uname, name) == 0 && strcmp(name->sysname, "Linux") == 0, "SYS_uname: %s", strerror(errno));
    EXPECT_TRUE(syscall(SYS_getdents64, directory, page + FIRST - 900, 900) > 0, "SYS_getdents64: %s", strerror(errno));
    EXPECT_TRUE(write(ends[1], "12", 2) == 2 && syscall(SYS_ioctl, ends[0], FIONREAD, number) == 0 && *number == 2,
                "SYS_ioctl: %s", strerror(errno));
    EXPECT_TRUE(read(ends[0], page, 100) == 2, "read");
    strcpy(page + AFTER, "/proc/self/exe");
    OK(syscall(SYS_faccessat, AT_FDCWD, page + AFTER, R_OK));
    /* A call that the interposer does not know: its page is opened. */
    EXPECT_TRUE(syscall(SYS_get_robust_list, 0, page + AFTER + 64, page + AFTER + 72) == 0, "SYS_get_robust_list: %s",
                strerror(errno));
    OK(close(directory));
}

int main(void)
{
    struct neighbor n = neighbor_begin();
    char *pages[] = {n.to, n.from};
    for (int i = 0; i < 2; i++) {
        int ends[2];
        REQUIRE_TRUE(pipe(ends) == 0, "pipe");
        poll_files(pages[i], ends);
        select_files(pages[i], ends);
        wait_for_events(pages[i], ends);
        make_requests(pages[i], ends);
        call_directly(pages[i], ends);
        EXPECT_TRUE(close(ends[0]) == 0 && close(ends[1]) == 0, "close");
    }
    neighbor_end(&n);
    return finish();
}
