/*
 * Calls whose memory depends on a number: ioctl, fcntl, prctl and direct system calls. The pages of memory that is not
 * known here are opened up to the end of the page of the pointer. What the call used of them is not judged.
 */
#include "interposer.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- ioctl ------------------------------------------------------------------------------------------------------- */

/* Settings of a terminal as the kernel defines them. */
#define TERMIOS 36
#define TERMIO 18

/* Requests whose number does not contain the size. A size of 0 stands for a number instead of a pointer. */
static const struct request {
    unsigned int number;
    unsigned int size;
    enum use use;
} requests[] = {
    {TCGETS, TERMIOS, WRITE},
    {TCSETS, TERMIOS, READ},
    {TCSETSW, TERMIOS, READ},
    {TCSETSF, TERMIOS, READ},
    {TCGETA, TERMIO, WRITE},
    {TCSETA, TERMIO, READ},
    {TCSETAW, TERMIO, READ},
    {TCSETAF, TERMIO, READ},
    {TIOCGLCKTRMIOS, TERMIOS, WRITE},
    {TIOCSLCKTRMIOS, TERMIOS, READ},
    {TIOCGWINSZ, sizeof(struct winsize), WRITE},
    {TIOCSWINSZ, sizeof(struct winsize), READ},
    {FIONREAD, sizeof(int), WRITE},
    {TIOCOUTQ, sizeof(int), WRITE},
    {FIONBIO, sizeof(int), READ},
    {FIOASYNC, sizeof(int), READ},
    {FIOQSIZE, sizeof(int64_t), WRITE},
    {TIOCGPGRP, sizeof(pid_t), WRITE},
    {TIOCSPGRP, sizeof(pid_t), READ},
    {TIOCGSID, sizeof(pid_t), WRITE},
    {TIOCGETD, sizeof(int), WRITE},
    {TIOCSETD, sizeof(int), READ},
    {TIOCMGET, sizeof(int), WRITE},
    {TIOCMSET, sizeof(int), READ},
    {TIOCMBIS, sizeof(int), READ},
    {TIOCMBIC, sizeof(int), READ},
    {TIOCGSOFTCAR, sizeof(int), WRITE},
    {TIOCSSOFTCAR, sizeof(int), READ},
    {TIOCPKT, sizeof(int), READ},
    {TIOCSTI, sizeof(char), READ},
    {SIOCATMARK, sizeof(int), WRITE},
    {SIOCGPGRP, sizeof(pid_t), WRITE},
    {FIOGETOWN, sizeof(pid_t), WRITE},
    {SIOCSPGRP, sizeof(pid_t), READ},
    {FIOSETOWN, sizeof(pid_t), READ},
    {SIOCGIFCONF, sizeof(struct ifconf), WRITE},
    {BLKGETSIZE, sizeof(long), WRITE},
    {BLKSSZGET, sizeof(int), WRITE},
    {BLKROGET, sizeof(int), WRITE},
    {BLKROSET, sizeof(int), READ},
    {FIOCLEX, 0, READ},
    {FIONCLEX, 0, READ},
    {TIOCEXCL, 0, READ},
    {TIOCNXCL, 0, READ},
    {TIOCSCTTY, 0, READ},
    {TIOCNOTTY, 0, READ},
    {TCSBRK, 0, READ},
    {TCSBRKP, 0, READ},
    {TCXONC, 0, READ},
    {TCFLSH, 0, READ},
};

/* Memory of an ioctl. Numbers since 1993 contain its size and its direction. */
static struct memory memory_of_request(unsigned int number, void *argument)
{
    if (_IOC_DIR(number) != _IOC_NONE) {
        return (struct memory)BYTES(argument, _IOC_SIZE(number), (_IOC_DIR(number) & _IOC_READ) != 0 ? WRITE : READ);
    }
    for (size_t i = 0; i < COUNT(requests); i++) {
        if (requests[i].number == number) {
            return (struct memory)BYTES(argument, requests[i].size, requests[i].use);
        }
    }
    if (number >= SIOCGIFNAME && number <= SIOCSIFMAP) {
        return (struct memory)BYTES(argument, sizeof(struct ifreq), WRITE);
    }
    return (struct memory)REST(argument);
}

EXPORT int ioctl(int file, unsigned long number, ...)
{
    REAL(ioctl)
    va_list rest;
    va_start(rest, number);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    struct memory all[2] = {{0}, {0}};
    if (is_watched(argument)) {
        all[0] = memory_of_request((unsigned int)number, argument);
    }
    if (number == SIOCGIFCONF && argument != NULL) {
        const struct ifconf *list = argument;
        all[1] = (struct memory)BYTES(list->ifc_buf, (size_t)list->ifc_len, WRITE);
    }
    begin_call(all, 2, "ioctl");
    int result = call(file, number, argument);
    end_call(all, 2, result >= 0);
    return result;
}

/* ---- fcntl and prctl --------------------------------------------------------------------------------------------- */

static struct memory memory_of_command(int command, void *argument)
{
    switch (command) {
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
        return (struct memory)BYTES(argument, sizeof(struct flock), READ);
    case F_GETLK:
    case F_OFD_GETLK:
        return (struct memory)BYTES(argument, sizeof(struct flock), WRITE);
    case F_SETOWN_EX:
        return (struct memory)BYTES(argument, sizeof(struct f_owner_ex), READ);
    case F_GETOWN_EX:
        return (struct memory)BYTES(argument, sizeof(struct f_owner_ex), WRITE);
    case F_GET_RW_HINT:
    case F_GET_FILE_RW_HINT:
        return (struct memory)BYTES(argument, sizeof(uint64_t), WRITE);
    case F_SET_RW_HINT:
    case F_SET_FILE_RW_HINT:
        return (struct memory)BYTES(argument, sizeof(uint64_t), READ);
    default: /* A number, or nothing. */
        return (struct memory)BYTES(argument, 0, READ);
    }
}

#define FCNTL(name)                                                                                                    \
    EXPORT int name(int file, int command, ...)                                                                        \
    {                                                                                                                  \
        va_list rest;                                                                                                  \
        va_start(rest, command);                                                                                       \
        void *argument = va_arg(rest, void *);                                                                         \
        va_end(rest);                                                                                                  \
        struct memory memory = memory_of_command(command, argument);                                                   \
        CALL(int, name, (memory), file, command, argument)                                                             \
    }

FCNTL(fcntl)
FCNTL(fcntl64)

/* Longest name of a thread, with its end. */
#define NAME_SIZE 16

/* Bytes that the kernel reads of the name of a thread. */
static size_t size_of_name(const char *name)
{
    size_t size = 0;
    while (size < NAME_SIZE && name[size++] != '\0') {
    }
    return size;
}

/* Memory of an argument of prctl. */
static struct memory memory_of_option(int option, int index, void *argument)
{
    if (!is_watched(argument)) {
        return (struct memory){0};
    }
    switch (option) {
    case PR_SET_NAME:
        return (struct memory)BYTES(argument, index == 0 ? size_of_name(argument) : 0, READ);
    case PR_GET_NAME:
        return (struct memory)BYTES(argument, index == 0 ? NAME_SIZE : 0, WRITE);
    case PR_GET_PDEATHSIG:
    case PR_GET_CHILD_SUBREAPER:
    case PR_GET_UNALIGN:
    case PR_GET_FPEMU:
    case PR_GET_FPEXC:
    case PR_GET_ENDIAN:
    case PR_GET_TSC:
        return (struct memory)BYTES(argument, index == 0 ? sizeof(int) : 0, WRITE);
    default:
        return (struct memory)REST(argument);
    }
}

EXPORT int prctl(int option, ...)
{
    void *arguments[4];
    struct memory memories[4];
    va_list rest;
    va_start(rest, option);
    for (int i = 0; i < 4; i++) {
        arguments[i] = va_arg(rest, void *);
        memories[i] = memory_of_option(option, i, arguments[i]);
    }
    va_end(rest);
    CALL(int, prctl, (memories[0], memories[1], memories[2], memories[3]), option, arguments[0], arguments[1],
         arguments[2], arguments[3])
}

/* ---- direct system calls ----------------------------------------------------------------------------------------- */

/* Sizes of a row: a text, or a fixed number of bytes. Otherwise `unit` is multiplied by the argument `count`. */
#define ONE (-1)
#define A_TEXT 0

/* Memory of a system call: the index of the pointer, and how large it is. */
static const struct direct {
    long number;
    int pointer;
    int unit;
    int count;
    enum use use;
    int is_counted; /* the call returns how many units it used */
} directs[] = {
    {SYS_read, 1, 1, 2, WRITE, 1},
    {SYS_pread64, 1, 1, 2, WRITE, 1},
    {SYS_recvfrom, 1, 1, 2, WRITE, 1},
    {SYS_getrandom, 0, 1, 1, WRITE, 1},
    {SYS_getdents64, 1, 1, 2, WRITE, 1},
    {SYS_getcwd, 0, 1, 1, WRITE, 1},
    {SYS_write, 1, 1, 2, READ, 1},
    {SYS_pwrite64, 1, 1, 2, READ, 1},
    {SYS_sendto, 1, 1, 2, READ, 1},
    {SYS_sendto, 4, 1, 5, READ, 0},
    {SYS_setsockopt, 3, 1, 4, READ, 0},
    {SYS_bind, 1, 1, 2, READ, 0},
    {SYS_connect, 1, 1, 2, READ, 0},
    {SYS_poll, 0, sizeof(struct pollfd), 1, WRITE, 0},
    {SYS_ppoll, 0, sizeof(struct pollfd), 1, WRITE, 0},
    {SYS_ppoll, 2, sizeof(struct timespec), ONE, WRITE, 0},
    {SYS_ppoll, 3, 1, 4, READ, 0},
    {SYS_epoll_ctl, 3, sizeof(struct epoll_event), ONE, READ, 0},
    {SYS_epoll_wait, 1, sizeof(struct epoll_event), 2, WRITE, 1},
    {SYS_epoll_pwait, 1, sizeof(struct epoll_event), 2, WRITE, 1},
    {SYS_epoll_pwait, 4, 1, 5, READ, 0},
    {SYS_pipe, 0, 2 * sizeof(int), ONE, WRITE, 0},
    {SYS_pipe2, 0, 2 * sizeof(int), ONE, WRITE, 0},
    {SYS_socketpair, 3, 2 * sizeof(int), ONE, WRITE, 0},
    {SYS_open, 0, A_TEXT, ONE, WHOLE, 0},
    {SYS_openat, 1, A_TEXT, ONE, WHOLE, 0},
    {SYS_access, 0, A_TEXT, ONE, WHOLE, 0},
    {SYS_faccessat, 1, A_TEXT, ONE, WHOLE, 0},
    {SYS_unlink, 0, A_TEXT, ONE, WHOLE, 0},
    {SYS_unlinkat, 1, A_TEXT, ONE, WHOLE, 0},
    {SYS_mkdir, 0, A_TEXT, ONE, WHOLE, 0},
    {SYS_mkdirat, 1, A_TEXT, ONE, WHOLE, 0},
    {SYS_rmdir, 0, A_TEXT, ONE, WHOLE, 0},
    {SYS_chdir, 0, A_TEXT, ONE, WHOLE, 0},
    {SYS_memfd_create, 0, A_TEXT, ONE, WHOLE, 0},
    {SYS_rename, 0, A_TEXT, ONE, WHOLE, 0},
    {SYS_rename, 1, A_TEXT, ONE, WHOLE, 0},
    {SYS_renameat, 1, A_TEXT, ONE, WHOLE, 0},
    {SYS_renameat, 3, A_TEXT, ONE, WHOLE, 0},
    {SYS_renameat2, 1, A_TEXT, ONE, WHOLE, 0},
    {SYS_renameat2, 3, A_TEXT, ONE, WHOLE, 0},
    {SYS_readlink, 0, A_TEXT, ONE, WHOLE, 0},
    {SYS_readlink, 1, 1, 2, WRITE, 1},
    {SYS_readlinkat, 1, A_TEXT, ONE, WHOLE, 0},
    {SYS_readlinkat, 2, 1, 3, WRITE, 1},
    {SYS_stat, 0, A_TEXT, ONE, WHOLE, 0},
    {SYS_stat, 1, sizeof(struct stat), ONE, WRITE, 0},
    {SYS_lstat, 0, A_TEXT, ONE, WHOLE, 0},
    {SYS_lstat, 1, sizeof(struct stat), ONE, WRITE, 0},
    {SYS_fstat, 1, sizeof(struct stat), ONE, WRITE, 0},
    {SYS_newfstatat, 1, A_TEXT, ONE, WHOLE, 0},
    {SYS_newfstatat, 2, sizeof(struct stat), ONE, WRITE, 0},
    {SYS_statx, 1, A_TEXT, ONE, WHOLE, 0},
    {SYS_statx, 4, sizeof(struct statx), ONE, WRITE, 0},
    {SYS_clock_gettime, 1, sizeof(struct timespec), ONE, WRITE, 0},
    {SYS_clock_getres, 1, sizeof(struct timespec), ONE, WRITE, 0},
    {SYS_nanosleep, 0, sizeof(struct timespec), ONE, READ, 0},
    {SYS_nanosleep, 1, sizeof(struct timespec), ONE, WRITE, 0},
    {SYS_clock_nanosleep, 2, sizeof(struct timespec), ONE, READ, 0},
    {SYS_clock_nanosleep, 3, sizeof(struct timespec), ONE, WRITE, 0},
    {SYS_times, 0, sizeof(struct tms), ONE, WRITE, 0},
    {SYS_getrusage, 1, sizeof(struct rusage), ONE, WRITE, 0},
    {SYS_prlimit64, 2, sizeof(struct rlimit), ONE, READ, 0},
    {SYS_prlimit64, 3, sizeof(struct rlimit), ONE, WRITE, 0},
    {SYS_sched_getaffinity, 2, 1, 1, WRITE, 1},
    {SYS_sched_setaffinity, 2, 1, 1, READ, 0},
    {SYS_getcpu, 0, sizeof(int), ONE, WRITE, 0},
    {SYS_getcpu, 1, sizeof(int), ONE, WRITE, 0},
    {SYS_uname, 0, sizeof(struct utsname), ONE, WRITE, 0},
    {SYS_sysinfo, 0, sizeof(struct sysinfo), ONE, WRITE, 0},
    {SYS_rt_sigprocmask, 1, 1, 3, READ, 0},
    {SYS_rt_sigprocmask, 2, 1, 3, WRITE, 0},
    {SYS_wait4, 1, sizeof(int), ONE, WRITE, 0},
    {SYS_wait4, 3, sizeof(struct rusage), ONE, WRITE, 0},
    {SYS_futex, 3, sizeof(struct timespec), ONE, WHOLE, 0},
};

/* System calls that take addresses but do not access the memory there, or whose objects the checker exempts. */
static const long addressing[] = {
    SYS_mmap,  SYS_munmap, SYS_mprotect, SYS_mremap,          SYS_madvise,         SYS_mlock, SYS_mlock2,
    SYS_munlock, SYS_msync, SYS_mbind,   SYS_set_robust_list, SYS_set_tid_address, SYS_brk,   SYS_futex,
};

/* Finds the memory of a system call. Returns the number of rows. */
static size_t memories_of(long number, const long arguments[6], struct memory all[6], const struct direct *rows[6])
{
    size_t count = 0;
    int is_known = 0;
    for (size_t i = 0; i < COUNT(directs); i++) {
        const struct direct *row = &directs[i];
        if (row->number == number) {
            const void *start = (const void *)arguments[row->pointer];
            size_t size = row->unit == A_TEXT ? watched_text(start)
                          : row->count == ONE ? (size_t)row->unit
                                              : (size_t)row->unit * (size_t)arguments[row->count];
            rows[count] = row;
            all[count++] = (struct memory)BYTES(start, size, row->use);
            is_known = 1;
        }
    }
    for (size_t i = 0; i < COUNT(addressing); i++) {
        is_known |= addressing[i] == number;
    }
    for (int i = 0; !is_known && i < 6; i++) {
        const void *start = (const void *)arguments[i];
        if (is_watched(start)) {
            rows[count] = NULL;
            all[count++] = (struct memory)REST(start);
        }
    }
    return count;
}

EXPORT long syscall(long number, ...)
{
    REAL(syscall)
    long a[6];
    va_list rest;
    va_start(rest, number);
    int is_any_watched = 0;
    for (int i = 0; i < 6; i++) {
        a[i] = va_arg(rest, long);
        is_any_watched |= is_watched((const void *)a[i]);
    }
    va_end(rest);
    /* Memory behind other pointers, or of a size that the call returns: as the functions of the C library. */
    switch (is_anything_watched() ? number : -1) {
    case SYS_futex:
        report_object((void *)a[0], sizeof(uint32_t));
        break;
    case SYS_ioctl:
        return ioctl((int)a[0], (unsigned long)a[1], a[2]);
    case SYS_readv:
        return readv((int)a[0], (void *)a[1], (int)a[2]);
    case SYS_writev:
        return writev((int)a[0], (void *)a[1], (int)a[2]);
    case SYS_preadv:
        return preadv((int)a[0], (void *)a[1], (int)a[2], a[3]);
    case SYS_pwritev:
        return pwritev((int)a[0], (void *)a[1], (int)a[2], a[3]);
    case SYS_recvmsg:
        return recvmsg((int)a[0], (void *)a[1], (int)a[2]);
    case SYS_sendmsg:
        return sendmsg((int)a[0], (void *)a[1], (int)a[2]);
    case SYS_recvmmsg:
        return recvmmsg((int)a[0], (void *)a[1], (unsigned int)a[2], (int)a[3], (void *)a[4]);
    case SYS_sendmmsg:
        return sendmmsg((int)a[0], (void *)a[1], (unsigned int)a[2], (int)a[3]);
    case SYS_getsockopt:
        return getsockopt((int)a[0], (int)a[1], (int)a[2], (void *)a[3], (void *)a[4]);
    case SYS_getsockname:
        return getsockname((int)a[0], (struct sockaddr *)a[1], (void *)a[2]);
    case SYS_getpeername:
        return getpeername((int)a[0], (struct sockaddr *)a[1], (void *)a[2]);
    case SYS_accept4:
        return accept4((int)a[0], (struct sockaddr *)a[1], (void *)a[2], (int)a[3]);
    default:
        break;
    }
    struct memory all[6];
    const struct direct *rows[6];
    size_t count = is_any_watched ? memories_of(number, a, all, rows) : 0;
    begin_call(all, count, "syscall");
    long result = call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    for (size_t i = 0; i < count; i++) {
        if (rows[i] != NULL && rows[i]->is_counted) {
            all[i].used = (size_t)result * (size_t)rows[i]->unit;
        }
    }
    end_call(all, count, result >= 0);
    return result;
}
