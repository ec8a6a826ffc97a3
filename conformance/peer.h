/*
 * Two processes for conformance programs: the program starts itself again with a role, or divides, and both talk over
 * pipes. Nothing here waits for time to pass: a message is the only signal.
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
 * When calls are refused on purpose: a process that has failed will not do
 * what this one waits for, so this one may end as if its own check had failed.
 */
static inline void *peer_watch(void *pid)
{
    siginfo_t end;
    if (waitid(P_PID, (id_t)(uintptr_t)pid, &end, WEXITED | WNOWAIT) == 0 && end.si_code == CLD_EXITED && end.si_status != 0) {
        waiting_thread(NULL);
    }
    return NULL;
}

/* A process of its own from here on, with the other ends of the pipes; its pid is 0 in the new one. */
static inline struct peer peer_divide(void)
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
        && pthread_create(&watcher, NULL, peer_watch, (void *)(uintptr_t)pid) == 0) {
        pthread_detach(watcher);
    }
    return pid == 0 ? parent : child;
}

/* Starts this program again, as another process, in a role. */
static inline struct peer peer_start(const char *role)
{
    struct peer peer = peer_divide();
    if (peer.pid == 0) {
        char in[16], out[16];
        snprintf(in, sizeof in, "%d", peer.in);
        snprintf(out, sizeof out, "%d", peer.out);
        execl("/proc/self/exe", "peer", role, in, out, (char *)NULL);
        _exit(127);
    }
    return peer;
}

/* A part of this program as another process: before the first call. */
static inline struct peer peer_fork(int (*part)(struct peer))
{
    struct peer peer = peer_divide();
    if (peer.pid == 0) {
        _exit(part(peer));
    }
    return peer;
}

/* The other end, in the process that was started. */
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

static inline void peer_tell(struct peer peer, char letter)
{
    peer_send(peer, &letter, 1);
}

static inline void peer_hear(struct peer peer, char letter)
{
    char got = 0;
    peer_receive(peer, &got, 1);
    REQUIRE_TRUE(got == letter, "wanted %c, got %c", letter, got);
}

/* Waits for the end of the process, which must be a good one. */
static inline void peer_end(struct peer peer)
{
    int status = -1;
    close(peer.out);
    REQUIRE_TRUE(waitpid(peer.pid, &status, 0) == peer.pid, "waitpid");
    expect_no_crash(status);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the status of the other process is %d", status);
    close(peer.in);
}

/* Ends the process in the middle of what it does. */
static inline void peer_kill(struct peer peer)
{
    int status = -1;
    REQUIRE_TRUE(kill(peer.pid, SIGKILL) == 0, "kill");
    REQUIRE_TRUE(waitpid(peer.pid, &status, 0) == peer.pid, "waitpid");
    EXPECT_TRUE(WIFSIGNALED(status), "the status of the other process is %d", status);
    close(peer.out);
    close(peer.in);
}

/* The id by which others admit this process. */
static inline int32_t peer_id(void)
{
    int32_t id = 0;
    REQUIRE_OK(aclrtDeviceGetBareTgid(&id));
    return id;
}

#endif
