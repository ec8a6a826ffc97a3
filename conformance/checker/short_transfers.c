// soc: Ascend910B
// softacl-only
/* A call that receives less than it has room for uses only the bytes that arrived. The room may reach into memory in
 * flight. */
#include "../expect.h"
#include "neighbor.h"
#include <sys/socket.h>
#include <sys/uio.h>

#define TEXT "sixteen letters!"
#define LENGTH 16

int main(void)
{
    struct neighbor n = neighbor_begin();
    int sides[2], file;
    char name[] = "/tmp/softacl-short-XXXXXX";
    char *rooms[] = {n.to + FIRST - 100, n.from + FIRST - 100};
    REQUIRE_TRUE(socketpair(AF_UNIX, SOCK_STREAM, 0, sides) == 0, "socketpair");
    REQUIRE_TRUE((file = mkstemp(name)) >= 0 && write(file, TEXT, LENGTH) == LENGTH, "mkstemp");
    for (int i = 0; i < 2; i++) {
        char *room = rooms[i];
        struct iovec parts[2] = {{room, 8}, {room + 8, 1000}};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        EXPECT_TRUE(pread(file, room, 1000, 0) == LENGTH && memcmp(room, TEXT, LENGTH) == 0, "pread");
        EXPECT_TRUE(preadv(file, parts, 2, 0) == LENGTH && memcmp(room, TEXT, LENGTH) == 0, "preadv");
        EXPECT_TRUE(lseek(file, 0, SEEK_SET) == 0 && read(file, room, 1000) == LENGTH, "read");
        EXPECT_TRUE(lseek(file, 0, SEEK_SET) == 0 && readv(file, parts, 2) == LENGTH, "readv");
        EXPECT_TRUE(send(sides[1], TEXT, LENGTH, 0) == LENGTH && recv(sides[0], room, 1000, 0) == LENGTH, "recv");
        EXPECT_TRUE(write(sides[1], TEXT, LENGTH) == LENGTH && recvmsg(sides[0], &message, 0) == LENGTH, "recvmsg");
        EXPECT_TRUE(write(sides[1], TEXT, LENGTH) == LENGTH, "write");
        EXPECT_TRUE(recvfrom(sides[0], room, 1000, 0, NULL, NULL) == LENGTH, "recvfrom");
        FILE *stream = fopen(name, "r");
        EXPECT_TRUE(stream != NULL && fread(room, 1, 1000, stream) == LENGTH, "fread");
        EXPECT_TRUE(stream != NULL && fclose(stream) == 0, "fclose");
        EXPECT_TRUE(memcmp(room, TEXT, LENGTH) == 0, "%.16s", room);
    }
    EXPECT_TRUE(close(file) == 0 && unlink(name) == 0 && close(sides[0]) == 0 && close(sides[1]) == 0, "close");
    neighbor_end(&n);
    return finish();
}
