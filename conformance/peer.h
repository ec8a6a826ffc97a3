/*
 * Second process for conformance programs. The program executes itself again
 * with a role, or forks; both processes exchange messages over pipes. They
 * synchronize only through these messages, never through sleeps.
 */
#ifndef CONFORMANCE_PEER_H
#define CONFORMANCE_PEER_H

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

struct peer {
    pid_t pid;
    int in;
    int out;
};

/*
 * For runs with injected failures: if the other process exits with an error,
 * this process may wait for it forever, so start the wait watchdog here too.
 */
static inline void *peer_watchdog(void *pid)
{
    siginfo_t exit_info;
    if (waitid(P_PID, (id_t)(uintptr_t)pid, &exit_info, WEXITED | WNOWAIT) == 0 && exit_info.si_code == CLD_EXITED
        && exit_info.si_status != 0) {
        wait_watchdog(NULL);
    }
    return NULL;
}

/* Forks with two pipes between parent and child. `pid` is 0 in the child. */
static inline struct peer peer_fork_with_pipes(void)
{
    int down[2], up[2];
    REQUIRE_TRUE(pipe(down) == 0 && pipe(up) == 0, "pipe");
    fflush(stdout);
    pid_t pid = fork();
    REQUIRE_TRUE(pid >= 0, "fork");
    struct peer parent = {0, down[0], up[1]}, child = {pid, up[0], down[1]};
    close(pid == 0 ? down[1] : down[0]);
    close(pid == 0 ? up[0] : up[1]);
    pthread_t watcher;
    if (pid != 0 && getenv("CONFORMANCE_AFTERWARDS") != NULL
        && pthread_create(&watcher, NULL, peer_watchdog, (void *)(uintptr_t)pid) == 0) {
        pthread_detach(watcher);
    }
    return pid == 0 ? parent : child;
}

/* Executes this program again in a new process, with `role` as its first argument. */
static inline struct peer peer_start(const char *role)
{
    struct peer peer = peer_fork_with_pipes();
    if (peer.pid == 0) {
        char in[16], out[16];
        snprintf(in, sizeof in, "%d", peer.in);
        snprintf(out, sizeof out, "%d", peer.out);
        execl("/proc/self/exe", "peer", role, in, out, (char *)NULL);
        _exit(127);
    }
    return peer;
}

/* Runs `body` in a forked process. Call it before the first AscendCL call. */
static inline struct peer peer_fork(int (*body)(struct peer))
{
    struct peer peer = peer_fork_with_pipes();
    if (peer.pid == 0) {
        _exit(body(peer));
    }
    return peer;
}

/* Returns the parent, in a process that peer_start() started. */
static inline struct peer peer_parent(char **argv)
{
    struct peer peer = {getppid(), atoi(argv[2]), atoi(argv[3])};
    return peer;
}

static inline void peer_send(struct peer peer, const void *data, size_t size)
{
    REQUIRE_TRUE(write(peer.out, data, size) == (ssize_t)size, "write of %zu bytes", size);
}

static inline void peer_receive(struct peer peer, void *data, size_t size)
{
    REQUIRE_TRUE(read(peer.in, data, size) == (ssize_t)size, "read of %zu bytes", size);
}

static inline void peer_send_byte(struct peer peer, char byte)
{
    peer_send(peer, &byte, 1);
}

static inline void peer_expect_byte(struct peer peer, char want)
{
    char got = 0;
    peer_receive(peer, &got, 1);
    REQUIRE_TRUE(got == want, "expected %c, got %c", want, got);
}

/* Waits until the process exits, which must be with code 0. */
static inline void peer_join(struct peer peer)
{
    int status = -1;
    close(peer.out);
    REQUIRE_TRUE(waitpid(peer.pid, &status, 0) == peer.pid, "waitpid");
    expect_no_crash(status);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the status of the other process is %d", status);
    close(peer.in);
}

/* Kills the process at an arbitrary point of its execution. */
static inline void peer_kill(struct peer peer)
{
    int status = -1;
    REQUIRE_TRUE(kill(peer.pid, SIGKILL) == 0, "kill");
    REQUIRE_TRUE(waitpid(peer.pid, &status, 0) == peer.pid, "waitpid");
    EXPECT_TRUE(WIFSIGNALED(status), "the status of the other process is %d", status);
    close(peer.out);
    close(peer.in);
}

/* Returns the process id under which other processes grant access to this one. */
static inline int32_t peer_id(void)
{
    int32_t id = 0;
    REQUIRE_OK(aclrtDeviceGetBareTgid(&id));
    return id;
}

#endif
