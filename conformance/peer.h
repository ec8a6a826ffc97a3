/*
 * Two processes for conformance programs: the program starts itself again with a role, and both talk over
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

/* Starts this program again, as another process, in a role. */
static inline struct peer peer_start(const char *role)
{
    int down[2], up[2];
    char in[16], out[16];
    REQUIRE_TRUE(pipe(down) == 0 && pipe(up) == 0, "pipe");
    snprintf(in, sizeof in, "%d", down[0]);
    snprintf(out, sizeof out, "%d", up[1]);
    fflush(stdout);
    pid_t pid = fork();
    REQUIRE_TRUE(pid >= 0, "fork");
    if (pid == 0) {
        close(down[1]);
        close(up[0]);
        execl("/proc/self/exe", "peer", role, in, out, (char *)NULL);
        _exit(127);
    }
    close(down[0]);
    close(up[1]);
    struct peer peer = {pid, up[0], down[1]};
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
