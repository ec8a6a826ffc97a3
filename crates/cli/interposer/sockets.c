/*
 * Sockets and pipes: buffers, messages, addresses, options, and the arrays of descriptors that calls return. Of memory
 * whose length the system returns, only the bytes that it wrote count.
 */
#include "interposer.h"

#include <stdint.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Longest array of messages that the kernel uses. */
#define MAX_MESSAGES 1024

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

#define BUFFER(name, use, ...) CALL_SIZED(ssize_t, name, (BYTES(buffer, size, use)), __VA_ARGS__)

EXPORT ssize_t recv(int socket, void *buffer, size_t size, int flags)
{
    BUFFER(recv, WRITE, socket, buffer, size, flags)
}

EXPORT ssize_t send(int socket, const void *buffer, size_t size, int flags)
{
    BUFFER(send, READ, socket, buffer, size, flags)
}

/* Length in a word that the caller sets to the size of `memory`, and the system to what it wrote. */
static size_t length_in(const void *memory, const socklen_t *length)
{
    return is_watched(memory) && length != NULL ? *length : 0;
}

#define RETURNED(memory, length) BYTES(memory, length_in(memory, length), WRITE)

EXPORT ssize_t recvfrom(int socket, void *restrict buffer, size_t size, int flags, struct sockaddr *restrict from,
                        socklen_t *restrict length)
{
    CALL_ADJUSTED(ssize_t, recvfrom, result >= 0,
                  (BYTES(buffer, size, WRITE), BYTES(length, from == NULL ? 0 : sizeof *length, WRITE),
                   RETURNED(from, length)),
                  (all[0].used = (size_t)result, all[2].used = length_in(from, length)), socket, buffer, size, flags,
                  from, length)
}

EXPORT ssize_t sendto(int socket, const void *buffer, size_t size, int flags, const struct sockaddr *to,
                      socklen_t length)
{
    CALL_SIZED(ssize_t, sendto, (BYTES(buffer, size, READ), BYTES(to, length, READ)), socket, buffer, size, flags, to,
               length)
}

/* Variants of _FORTIFY_SOURCE: only those that would end the program are forwarded. */
ssize_t __recv_chk(int socket, void *buffer, size_t size, size_t room, int flags);
ssize_t __recvfrom_chk(int socket, void *restrict buffer, size_t size, size_t room, int flags,
                       struct sockaddr *restrict from, socklen_t *restrict length);

EXPORT ssize_t __recv_chk(int socket, void *buffer, size_t size, size_t room, int flags)
{
    REAL(__recv_chk)
    return size <= room ? recv(socket, buffer, size, flags) : call(socket, buffer, size, room, flags);
}

EXPORT ssize_t __recvfrom_chk(int socket, void *restrict buffer, size_t size, size_t room, int flags,
                              struct sockaddr *restrict from, socklen_t *restrict length)
{
    REAL(__recvfrom_chk)
    return size <= room ? recvfrom(socket, buffer, size, flags, from, length)
                        : call(socket, buffer, size, room, flags, from, length);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static void begin_message(const struct msghdr *message, int is_write, const char *function)
{
    begin_access(message->msg_name, message->msg_namelen, is_write, function);
    begin_access(message->msg_control, message->msg_controllen, is_write, function);
    begin_parts(message->msg_iov, message->msg_iovlen, is_write, function);
}

/* The system has replaced the lengths in a received message, also by 0, so that they do not say what was announced. */
static void end_message(const struct msghdr *message, ssize_t done)
{
    end_parts(message->msg_iov, message->msg_iovlen, done);
    end_access(message->msg_control, message->msg_controllen + 1, done < 0 ? 0 : (ssize_t)message->msg_controllen);
    end_access(message->msg_name, (size_t)message->msg_namelen + 1, done < 0 ? 0 : (ssize_t)message->msg_namelen);
}

#define MESSAGE(name, is_write)                                                                                        \
    REAL(name)                                                                                                         \
    if (message == NULL) {                                                                                             \
        return call(socket, message, flags);                                                                           \
    }                                                                                                                  \
    begin_access(message, sizeof *message, is_write, #name);                                                           \
    begin_message(message, is_write, #name);                                                                           \
    ssize_t result = call(socket, message, flags);                                                                     \
    end_message(message, result);                                                                                      \
    end_access(message, sizeof *message, result < 0 ? 0 : (ssize_t)sizeof *message);                                   \
    return result;

EXPORT ssize_t recvmsg(int socket, struct msghdr *message, int flags)
{
    MESSAGE(recvmsg, 1)
}

EXPORT ssize_t sendmsg(int socket, const struct msghdr *message, int flags)
{
    MESSAGE(sendmsg, 0)
}

static void begin_messages(const struct mmsghdr *messages, unsigned int count, int is_write, const char *function)
{
    /* The length of each message is written, also if it is sent. */
    begin_access(messages, count * sizeof *messages, 1, function);
    for (unsigned int i = 0; messages != NULL && i < count; i++) {
        begin_message(&messages[i].msg_hdr, is_write, function);
    }
}

static void end_messages(const struct mmsghdr *messages, unsigned int count, int done)
{
    for (unsigned int i = count; messages != NULL && i-- > 0;) {
        end_message(&messages[i].msg_hdr, (int)i < done ? (ssize_t)messages[i].msg_len : -1);
    }
    end_access(messages, count * sizeof *messages, done < 0 ? 0 : (ssize_t)done * (ssize_t)sizeof *messages);
}

EXPORT int sendmmsg(int socket, struct mmsghdr *messages, unsigned int count, int flags)
{
    REAL(sendmmsg)
    unsigned int used = count < MAX_MESSAGES ? count : MAX_MESSAGES;
    begin_messages(messages, used, 0, "sendmmsg");
    int result = call(socket, messages, count, flags);
    end_messages(messages, used, result);
    return result;
}

EXPORT int recvmmsg(int socket, struct mmsghdr *messages, unsigned int count, int flags, struct timespec *timeout)
{
    REAL(recvmmsg)
    unsigned int used = count < MAX_MESSAGES ? count : MAX_MESSAGES;
    begin_access(timeout, sizeof *timeout, 1, "recvmmsg");
    begin_messages(messages, used, 1, "recvmmsg");
    int result = call(socket, messages, count, flags, timeout);
    end_messages(messages, used, result);
    end_access(timeout, sizeof *timeout, result < 0 ? 0 : (ssize_t)sizeof *timeout);
    return result;
}

/* ---- addresses and options --------------------------------------------------------------------------------------- */

#define ADDRESS(name)                                                                                                  \
    EXPORT int name(int socket, const struct sockaddr *address, socklen_t length)                                      \
    {                                                                                                                  \
        CALL(int, name, (BYTES(address, length, READ)), socket, address, length)                                       \
    }

ADDRESS(bind)
ADDRESS(connect)

/* Without an address the length is not used. */
#define RETURNED_ADDRESS(name, ...)                                                                                    \
    CALL_ADJUSTED(int, name, result >= 0,                                                                              \
                  (BYTES(length, address == NULL ? 0 : sizeof *length, WRITE), RETURNED(address, length)),             \
                  all[1].used = length_in(address, length), __VA_ARGS__)

#define NAME(name)                                                                                                     \
    EXPORT int name(int socket, struct sockaddr *restrict address, socklen_t *restrict length)                         \
    {                                                                                                                  \
        RETURNED_ADDRESS(name, socket, address, length)                                                                \
    }

NAME(getsockname)
NAME(getpeername)
NAME(accept)

EXPORT int accept4(int socket, struct sockaddr *restrict address, socklen_t *restrict length, int flags)
{
    RETURNED_ADDRESS(accept4, socket, address, length, flags)
}

EXPORT int setsockopt(int socket, int level, int option, const void *value, socklen_t length)
{
    CALL(int, setsockopt, (BYTES(value, length, READ)), socket, level, option, value, length)
}

EXPORT int getsockopt(int socket, int level, int option, void *restrict value, socklen_t *restrict length)
{
    CALL_ADJUSTED(int, getsockopt, result >= 0, (OUT(length), RETURNED(value, length)),
                  all[1].used = length_in(value, length), socket, level, option, value, length)
}

/* ---- arrays of descriptors --------------------------------------------------------------------------------------- */

EXPORT int socketpair(int domain, int type, int protocol, int ends[2])
{
    CALL(int, socketpair, (BYTES(ends, 2 * sizeof *ends, WRITE)), domain, type, protocol, ends)
}

EXPORT int pipe(int ends[2])
{
    CALL(int, pipe, (BYTES(ends, 2 * sizeof *ends, WRITE)), ends)
}

EXPORT int pipe2(int ends[2], int flags)
{
    CALL(int, pipe2, (BYTES(ends, 2 * sizeof *ends, WRITE)), ends, flags)
}
