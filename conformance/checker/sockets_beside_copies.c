// soc: Ascend910B
// softacl-only
/* Messages, addresses, options and new descriptors may be in the page of a copy. */
#include "../expect.h"
#include "neighbor.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define OK(call) EXPECT_TRUE((call) >= 0, "%s: %s", #call, strerror(errno))

/* The room of received messages reaches into the copy. */
static void pass_messages(char *page)
{
    struct mmsghdr *messages = (struct mmsghdr *)page;
    struct iovec *parts = (struct iovec *)(page + 256);
    char *texts = page + 512, *rooms = page + FIRST - 100;
    int *sides = (int *)(page + AFTER);
    OK(socketpair(AF_UNIX, SOCK_DGRAM, 0, sides));
    memset(messages, 0, 2 * sizeof *messages);
    for (int i = 0; i < 2; i++) {
        snprintf(texts + 32 * i, 32, "message %d", i);
        parts[i].iov_base = texts + 32 * i;
        parts[i].iov_len = 10;
        messages[i].msg_hdr.msg_iov = parts + i;
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    EXPECT_TRUE(sendmmsg(sides[0], messages, 2, 0) == 2, "sendmmsg: %s", strerror(errno));
    parts[0].iov_base = rooms;
    parts[1].iov_base = rooms + 50;
    parts[0].iov_len = parts[1].iov_len = 1000;
    struct timespec *timeout = (struct timespec *)(page + AFTER + 16);
    timeout->tv_sec = 10;
    timeout->tv_nsec = 0;
    EXPECT_TRUE(recvmmsg(sides[1], messages, 2, 0, timeout) == 2, "recvmmsg: %s", strerror(errno));
    EXPECT_TRUE(messages[1].msg_len == 10 && strcmp(rooms, "message 0") == 0 && strcmp(rooms + 50, "message 1") == 0,
                "%.10s %.10s", rooms, rooms + 50);
    parts[0].iov_len = 10;
    EXPECT_TRUE(sendmsg(sides[0], &messages[0].msg_hdr, 0) == 10, "sendmsg: %s", strerror(errno));
    EXPECT_TRUE(recvmsg(sides[1], &messages[1].msg_hdr, 0) == 10, "recvmsg: %s", strerror(errno));
    EXPECT_TRUE(writev(sides[0], parts, 1) == 10 && readv(sides[1], parts + 1, 1) == 10, "writev, readv");
    EXPECT_TRUE(close(sides[0]) == 0 && close(sides[1]) == 0, "close");
}

static void connect_sockets(char *page)
{
    struct sockaddr_in *address = (struct sockaddr_in *)page, *other = (struct sockaddr_in *)(page + 64);
    socklen_t *length = (socklen_t *)(page + 128);
    int *value = (int *)(page + 132), listener = socket(AF_INET, SOCK_STREAM, 0), client, server;
    *value = 1;
    OK(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, value, sizeof *value));
    *value = 0;
    *length = sizeof *value;
    EXPECT_TRUE(getsockopt(listener, SOL_SOCKET, SO_REUSEADDR, value, length) == 0 && *value == 1 && *length == 4,
                "getsockopt: %s", strerror(errno));
    /* Room over the copy, of which four bytes are written. */
    *length = 1000;
    EXPECT_TRUE(getsockopt(listener, SOL_SOCKET, SO_TYPE, page + FIRST - 4, length) == 0 && *length == 4,
                "getsockopt: %s", strerror(errno));
    memset(address, 0, sizeof *address);
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    OK(bind(listener, (struct sockaddr *)address, sizeof *address));
    OK(listen(listener, 2));
    *length = sizeof *address;
    EXPECT_TRUE(getsockname(listener, (struct sockaddr *)address, length) == 0 && address->sin_port != 0,
                "getsockname: %s", strerror(errno));
    for (int i = 0; i < 2; i++) {
        client = socket(AF_INET, SOCK_STREAM, 0);
        OK(connect(client, (struct sockaddr *)address, sizeof *address));
        memset(other, 0, sizeof *other);
        *length = sizeof *other;
        server = i == 0 ? accept(listener, (struct sockaddr *)other, length)
                        : accept4(listener, (struct sockaddr *)other, length, SOCK_CLOEXEC);
        EXPECT_TRUE(server >= 0 && other->sin_family == AF_INET, "accept: %s", strerror(errno));
        *length = sizeof *other;
        EXPECT_TRUE(getpeername(client, (struct sockaddr *)other, length) == 0 && other->sin_port == address->sin_port,
                    "getpeername: %s", strerror(errno));
        EXPECT_TRUE(close(client) == 0 && close(server) == 0, "close");
    }
    OK(close(listener));
}

static void send_datagrams(char *page)
{
    struct sockaddr_in *address = (struct sockaddr_in *)page, *from = (struct sockaddr_in *)(page + 64);
    socklen_t *length = (socklen_t *)(page + 128);
    int socket_of_both = socket(AF_INET, SOCK_DGRAM, 0);
    memset(address, 0, sizeof *address);
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    OK(bind(socket_of_both, (struct sockaddr *)address, sizeof *address));
    *length = sizeof *address;
    OK(getsockname(socket_of_both, (struct sockaddr *)address, length));
    EXPECT_TRUE(sendto(socket_of_both, "text", 4, 0, (struct sockaddr *)address, sizeof *address) == 4, "sendto: %s",
                strerror(errno));
    *length = sizeof *from;
    EXPECT_TRUE(recvfrom(socket_of_both, page + FIRST - 8, 1000, 0, (struct sockaddr *)from, length) == 4 &&
                    from->sin_port == address->sin_port && *length == sizeof *from,
                "recvfrom: %s", strerror(errno));
    OK(close(socket_of_both));
}

static void move_bytes(char *page)
{
    int *ends = (int *)page;
    uint64_t *value = (uint64_t *)(page + 16);
    off64_t *offset = (off64_t *)(page + 24);
    OK(pipe(ends));
    EXPECT_TRUE(write(ends[1], "x", 1) == 1 && close(ends[0]) == 0 && close(ends[1]) == 0, "pipe");
    OK(pipe2(ends, O_CLOEXEC));
    int file = open("/proc/self/exe", O_RDONLY);
    *offset = 1;
    EXPECT_TRUE(splice(file, offset, ends[1], NULL, 3, 0) == 3 && *offset == 4, "splice: %s", strerror(errno));
    EXPECT_TRUE(sendfile64(ends[1], file, offset, 3) == 3 && *offset == 7, "sendfile: %s", strerror(errno));
    EXPECT_TRUE(close(file) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0, "pipe2");
    int counter = eventfd(0, 0);
    EXPECT_TRUE(eventfd_write(counter, 9) == 0 && eventfd_read(counter, value) == 0 && *value == 9, "eventfd_read: %s",
                strerror(errno));
    OK(close(counter));
}

int main(void)
{
    struct neighbor n = neighbor_begin();
    char *pages[] = {n.to, n.from};
    for (int i = 0; i < 2; i++) {
        pass_messages(pages[i]);
        connect_sockets(pages[i]);
        send_datagrams(pages[i]);
        move_bytes(pages[i]);
    }
    neighbor_end(&n);
    return finish();
}
