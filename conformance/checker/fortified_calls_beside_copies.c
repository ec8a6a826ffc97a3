// soc: Ascend910B
// softacl-only
/* The functions that gcc -D_FORTIFY_SOURCE=2 calls instead may get memory in the page of a copy, too. */
#include "../expect.h"
#include "neighbor.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

ssize_t __read_chk(int file, void *buffer, size_t size, size_t room);
ssize_t __pread64_chk(int file, void *buffer, size_t size, off64_t offset, size_t room);
ssize_t __recv_chk(int socket, void *buffer, size_t size, size_t room, int flags);
ssize_t __recvfrom_chk(int socket, void *buffer, size_t size, size_t room, int flags, struct sockaddr *from,
                       socklen_t *length);
ssize_t __readlink_chk(const char *path, char *buffer, size_t size, size_t room);
ssize_t __readlinkat_chk(int directory, const char *path, char *buffer, size_t size, size_t room);
char *__getcwd_chk(char *buffer, size_t size, size_t room);
size_t __fread_chk(void *buffer, size_t room, size_t size, size_t count, FILE *file);
int __poll_chk(struct pollfd *files, nfds_t count, int timeout, size_t room);
int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *set, size_t room);
int __open_2(const char *path, int flags);
int __openat_2(int directory, const char *path, int flags);
int __getgroups_chk(int count, gid_t *groups, size_t room);

#define LENGTH 16
#define TEXT "sixteen letters!"
#define ROOM 1000

int main(void)
{
    struct neighbor n = neighbor_begin();
    char *pages[] = {n.to, n.from};
    int sides[2];
    REQUIRE_TRUE(socketpair(AF_UNIX, SOCK_STREAM, 0, sides) == 0, "socketpair");
    for (int i = 0; i < 2; i++) {
        char *room = pages[i] + FIRST - 400, *path = strcpy(pages[i], "/proc/self/exe");
        struct pollfd *files = (struct pollfd *)(pages[i] + 128);
        struct timespec *timeout = (struct timespec *)(pages[i] + 256);
        EXPECT_TRUE(write(sides[1], TEXT, LENGTH) == LENGTH && __read_chk(sides[0], room, ROOM, ROOM) == LENGTH,
                    "__read_chk: %s", strerror(errno));
        EXPECT_TRUE(write(sides[1], TEXT, LENGTH) == LENGTH && __recv_chk(sides[0], room, ROOM, ROOM, 0) == LENGTH,
                    "__recv_chk: %s", strerror(errno));
        EXPECT_TRUE(write(sides[1], TEXT, LENGTH) == LENGTH &&
                        __recvfrom_chk(sides[0], room, ROOM, ROOM, 0, NULL, NULL) == LENGTH,
                    "__recvfrom_chk: %s", strerror(errno));
        files[0] = (struct pollfd){.fd = sides[1], .events = POLLOUT};
        EXPECT_TRUE(__poll_chk(files, 1, 1000, sizeof *files) == 1, "__poll_chk: %s", strerror(errno));
        *timeout = (struct timespec){1, 0};
        EXPECT_TRUE(__ppoll_chk(files, 1, timeout, NULL, sizeof *files) == 1, "__ppoll_chk: %s", strerror(errno));
        EXPECT_TRUE(__readlink_chk(path, room, ROOM, ROOM) > 0, "__readlink_chk: %s", strerror(errno));
        EXPECT_TRUE(__readlinkat_chk(AT_FDCWD, path, room, ROOM, ROOM) > 0, "__readlinkat_chk: %s", strerror(errno));
        EXPECT_TRUE(__getcwd_chk(room, ROOM, ROOM) == room, "__getcwd_chk: %s", strerror(errno));
        EXPECT_TRUE(__getgroups_chk(100, (gid_t *)room, ROOM) >= 0, "__getgroups_chk: %s", strerror(errno));
        int file = __open_2(path, O_RDONLY);
        EXPECT_TRUE(file >= 0 && __pread64_chk(file, room, LENGTH, 0, ROOM) == LENGTH, "__pread64_chk: %s",
                    strerror(errno));
        EXPECT_TRUE(close(file) == 0 && (file = __openat_2(AT_FDCWD, path, O_RDONLY)) >= 0, "__openat_2");
        EXPECT_TRUE(close(file) == 0, "close");
        FILE *stream = fopen(path, "r");
        EXPECT_TRUE(stream != NULL && __fread_chk(room, ROOM, 1, LENGTH, stream) == LENGTH && fclose(stream) == 0,
                    "__fread_chk: %s", strerror(errno));
    }
    EXPECT_TRUE(close(sides[0]) == 0 && close(sides[1]) == 0, "close");
    neighbor_end(&n);
    return finish();
}
