/*
 * Connection to the checker, and the functions of the C library that use or release plain memory of the program:
 * buffers of system calls, and the allocator. Each is forwarded unchanged; before and after, watched memory is reported
 * to the checker. The other files replace functions by what they take: sockets.c, paths.c, structs.c (results and
 * settings of fixed size), requests.c (memory that depends on a number), processes.c, output.c (FILE) and strings.c.
 *
 * Not observed: system calls inside other functions of the C library, and calls that bypass it. docs/check.md has the
 * list.
 */
#include "interposer.h"

#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <unistd.h>

/* Longest vector of the kernel. A call with a longer one fails. */
#define MAX_PARTS 1024

/* ---- hooks of the checker ---------------------------------------------------------------------------------------- */

typedef void (*begin_hook)(const void *start, size_t size, int is_write, const char *function);
typedef void (*done_hook)(const void *start, size_t done);
typedef void (*range_hook)(const void *start, size_t size, const char *function);

/* Set by the checker when it starts. */
EXPORT _Atomic(begin_hook) softacl_interposer_begin;
EXPORT _Atomic(done_hook) softacl_interposer_done;
EXPORT _Atomic(range_hook) softacl_interposer_read;
EXPORT _Atomic(range_hook) softacl_interposer_release;

/* First and last byte of pinned memory, and of all memory that was ever registered. Zero if there is none. */
EXPORT _Atomic uintptr_t softacl_interposer_bounds[4];

/* True while this thread is in a hook: the checker calls functions that are replaced here, too. */
static __thread int is_inside __attribute__((tls_model("initial-exec")));

static int is_between(const void *address, int first)
{
    uintptr_t last = atomic_load_explicit(&softacl_interposer_bounds[first + 1], memory_order_acquire);
    return (uintptr_t)address <= last &&
           (uintptr_t)address >= atomic_load_explicit(&softacl_interposer_bounds[first], memory_order_relaxed);
}

int is_watched(const void *address)
{
    return address != NULL && (is_between(address, 0) || is_between(address, 2));
}

int is_anything_watched(void)
{
    return atomic_load_explicit(&softacl_interposer_begin, memory_order_acquire) != NULL &&
           (atomic_load_explicit(&softacl_interposer_bounds[1], memory_order_relaxed) != 0 ||
            atomic_load_explicit(&softacl_interposer_bounds[3], memory_order_relaxed) != 0);
}

void begin_access(const void *start, size_t size, int is_write, const char *function)
{
    begin_hook hook = atomic_load_explicit(&softacl_interposer_begin, memory_order_acquire);
    if (hook != NULL && !is_inside && size != 0 && (is_watched(start) || is_watched((const char *)start + size - 1))) {
        int saved = errno;
        is_inside = 1;
        hook(start, size, is_write, function);
        is_inside = 0;
        errno = saved;
    }
}

static void finish_access(const void *start, size_t size, size_t done)
{
    done_hook hook = atomic_load_explicit(&softacl_interposer_done, memory_order_acquire);
    if (hook != NULL && !is_inside && size != 0 && (is_watched(start) || is_watched((const char *)start + size - 1))) {
        int saved = errno;
        is_inside = 1;
        hook(start, done);
        is_inside = 0;
        errno = saved;
    }
}

void end_access(const void *start, size_t size, ssize_t done)
{
    finish_access(start, size, done < 0 ? 0 : (size_t)done < size ? (size_t)done : size);
}

void begin_call(const struct memory *all, size_t count, const char *function)
{
    for (size_t i = 0; i < count; i++) {
        begin_access(all[i].start, all[i].size, all[i].use == WRITE || all[i].use == UNKNOWN, function);
    }
}

/* Backwards: accesses that start at the same byte end in the reverse order. */
void end_call(const struct memory *all, size_t count, int has_succeeded)
{
    while (count-- > 0) {
        if (all[count].use == UNKNOWN) {
            finish_access(all[count].start, all[count].size, SIZE_MAX);
        } else {
            int counts = has_succeeded || all[count].use == WHOLE;
            end_access(all[count].start, all[count].size, counts ? (ssize_t)all[count].used : 0);
        }
    }
}

void begin_parts(const struct iovec *parts, size_t count, int is_write, const char *function)
{
    begin_access(parts, count <= MAX_PARTS ? count * sizeof *parts : 0, 0, function);
    for (size_t i = 0; parts != NULL && i < count && count <= MAX_PARTS; i++) {
        begin_access(parts[i].iov_base, parts[i].iov_len, is_write, function);
    }
}

void end_parts(const struct iovec *parts, size_t count, ssize_t done)
{
    size_t array = count <= MAX_PARTS && done >= 0 ? count * sizeof *parts : 0;
    for (size_t i = 0; parts != NULL && i < count && count <= MAX_PARTS; i++) {
        end_access(parts[i].iov_base, parts[i].iov_len, done);
        done = done > (ssize_t)parts[i].iov_len ? done - (ssize_t)parts[i].iov_len : 0;
    }
    end_access(parts, count <= MAX_PARTS ? count * sizeof *parts : 0, (ssize_t)array);
}

void report_read(const void *start, size_t size, const char *function)
{
    range_hook hook = atomic_load_explicit(&softacl_interposer_read, memory_order_acquire);
    if (hook != NULL && !is_inside && is_watched(start)) {
        int saved = errno;
        is_inside = 1;
        hook(start, size, function);
        is_inside = 0;
        errno = saved;
    }
}

/* Reports memory that is about to be released. */
static void report_release(const void *start, size_t size, const char *function)
{
    range_hook hook = atomic_load_explicit(&softacl_interposer_release, memory_order_acquire);
    if (hook != NULL && !is_inside) {
        int saved = errno;
        is_inside = 1;
        hook(start, size, function);
        is_inside = 0;
        errno = saved;
    }
}

size_t length_of(const char *text)
{
    REAL(strlen)
    return call(text);
}

size_t watched_text(const char *text)
{
    return is_watched(text) ? length_of(text) + 1 : 0;
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

#define BUFFER(name, use, ...) CALL_SIZED(ssize_t, name, (BYTES(buffer, size, use)), __VA_ARGS__)

EXPORT ssize_t read(int file, void *buffer, size_t size)
{
    BUFFER(read, WRITE, file, buffer, size)
}

EXPORT ssize_t write(int file, const void *buffer, size_t size)
{
    BUFFER(write, READ, file, buffer, size)
}

EXPORT ssize_t pread(int file, void *buffer, size_t size, off_t offset)
{
    BUFFER(pread, WRITE, file, buffer, size, offset)
}

EXPORT ssize_t pread64(int file, void *buffer, size_t size, off64_t offset)
{
    BUFFER(pread64, WRITE, file, buffer, size, offset)
}

EXPORT ssize_t pwrite(int file, const void *buffer, size_t size, off_t offset)
{
    BUFFER(pwrite, READ, file, buffer, size, offset)
}

EXPORT ssize_t pwrite64(int file, const void *buffer, size_t size, off64_t offset)
{
    BUFFER(pwrite64, READ, file, buffer, size, offset)
}

/* Variants of _FORTIFY_SOURCE: only those that would end the program are forwarded. */
ssize_t __read_chk(int file, void *buffer, size_t size, size_t room);
ssize_t __pread_chk(int file, void *buffer, size_t size, off_t offset, size_t room);
ssize_t __pread64_chk(int file, void *buffer, size_t size, off64_t offset, size_t room);

EXPORT ssize_t __read_chk(int file, void *buffer, size_t size, size_t room)
{
    REAL(__read_chk)
    return size <= room ? read(file, buffer, size) : call(file, buffer, size, room);
}

EXPORT ssize_t __pread_chk(int file, void *buffer, size_t size, off_t offset, size_t room)
{
    REAL(__pread_chk)
    return size <= room ? pread(file, buffer, size, offset) : call(file, buffer, size, offset, room);
}

EXPORT ssize_t __pread64_chk(int file, void *buffer, size_t size, off64_t offset, size_t room)
{
    REAL(__pread64_chk)
    return size <= room ? pread64(file, buffer, size, offset) : call(file, buffer, size, offset, room);
}

#define PARTS(name, is_write, ...)                                                                                     \
    REAL(name)                                                                                                         \
    begin_parts(parts, (size_t)count, is_write, #name);                                                                \
    ssize_t result = call(__VA_ARGS__);                                                                                \
    end_parts(parts, (size_t)count, result);                                                                           \
    return result;

EXPORT ssize_t readv(int file, const struct iovec *parts, int count)
{
    PARTS(readv, 1, file, parts, count)
}

EXPORT ssize_t writev(int file, const struct iovec *parts, int count)
{
    PARTS(writev, 0, file, parts, count)
}

EXPORT ssize_t vmsplice(int file, const struct iovec *parts, size_t count, unsigned int flags)
{
    PARTS(vmsplice, 0, file, parts, count, flags)
}

/* Memory of another process is not watched here. */
#define OF_PROCESS(name, is_write)                                                                                     \
    EXPORT ssize_t name(pid_t process, const struct iovec *parts, unsigned long count, const struct iovec *others,     \
                        unsigned long other_count, unsigned long flags)                                                \
    {                                                                                                                  \
        int is_own = process == getpid();                                                                              \
        begin_parts(others, is_own ? other_count : 0, !is_write, #name);                                            \
        ssize_t moved = name##_parts(process, parts, count, others, other_count, flags);                               \
        end_parts(others, is_own ? other_count : 0, moved);                                                         \
        return moved;                                                                                                  \
    }

static ssize_t process_vm_readv_parts(pid_t process, const struct iovec *parts, unsigned long count,
                                      const struct iovec *others, unsigned long other_count, unsigned long flags)
{
    PARTS(process_vm_readv, 1, process, parts, count, others, other_count, flags)
}

static ssize_t process_vm_writev_parts(pid_t process, const struct iovec *parts, unsigned long count,
                                       const struct iovec *others, unsigned long other_count, unsigned long flags)
{
    PARTS(process_vm_writev, 0, process, parts, count, others, other_count, flags)
}

OF_PROCESS(process_vm_readv, 1)
OF_PROCESS(process_vm_writev, 0)

#define VECTORED(name, offset_type, is_write)                                                                          \
    EXPORT ssize_t name(int file, const struct iovec *parts, int count, offset_type offset)                            \
    {                                                                                                                  \
        PARTS(name, is_write, file, parts, count, offset)                                                              \
    }

VECTORED(preadv, off_t, 1)
VECTORED(preadv64, off64_t, 1)
VECTORED(pwritev, off_t, 0)
VECTORED(pwritev64, off64_t, 0)

#define VECTORED_WITH_FLAGS(name, offset_type, is_write)                                                               \
    EXPORT ssize_t name(int file, const struct iovec *parts, int count, offset_type offset, int flags)                 \
    {                                                                                                                  \
        PARTS(name, is_write, file, parts, count, offset, flags)                                                       \
    }

VECTORED_WITH_FLAGS(preadv2, off_t, 1)
VECTORED_WITH_FLAGS(preadv64v2, off64_t, 1)
VECTORED_WITH_FLAGS(pwritev2, off_t, 0)
VECTORED_WITH_FLAGS(pwritev64v2, off64_t, 0)

EXPORT ssize_t getrandom(void *buffer, size_t size, unsigned int flags)
{
    BUFFER(getrandom, WRITE, buffer, size, flags)
}

EXPORT int getentropy(void *buffer, size_t size)
{
    CALL(int, getentropy, (BYTES(buffer, size, WRITE)), buffer, size)
}

/* Since glibc 2.36. Defined always: a portable build may run on a newer one. */
EXPORT void arc4random_buf(void *buffer, size_t size)
{
    REAL(arc4random_buf)
    begin_access(buffer, size, 1, "arc4random_buf");
    call(buffer, size);
    end_access(buffer, size, (ssize_t)size);
}

EXPORT ssize_t getdents64(int file, void *buffer, size_t size)
{
    BUFFER(getdents64, WRITE, file, buffer, size)
}

EXPORT int eventfd_read(int file, eventfd_t *value)
{
    CALL(int, eventfd_read, (OUT(value)), file, value)
}

EXPORT ssize_t sendfile(int out, int in, off_t *offset, size_t size)
{
    CALL(ssize_t, sendfile, (OUT(offset)), out, in, offset, size)
}

EXPORT ssize_t sendfile64(int out, int in, off64_t *offset, size_t size)
{
    CALL(ssize_t, sendfile64, (OUT(offset)), out, in, offset, size)
}

#define MOVE(name)                                                                                                     \
    EXPORT ssize_t name(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned int flags)                  \
    {                                                                                                                  \
        CALL(ssize_t, name, (OUT(from), OUT(to)), in, from, out, to, size, flags)                                      \
    }

MOVE(splice)
MOVE(copy_file_range)

/* Advice that discards the contents counts as a write. */
EXPORT int madvise(void *start, size_t size, int advice)
{
    int discards = advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE;
    CALL(int, madvise, (BYTES(start, discards ? size : 0, WRITE)), start, size, advice)
}

EXPORT int mincore(void *start, size_t size, unsigned char *residency)
{
    CALL(int, mincore, (BYTES(residency, size / 4096 + (size % 4096 != 0), WRITE)), start, size, residency)
}

/* ---- memory that is released ------------------------------------------------------------------------------------- */

/* True while this thread looks up a function of the allocator. dlsym may free the text of an earlier error. */
static __thread int is_resolving __attribute__((tls_model("initial-exec")));

EXPORT void free(void *memory)
{
    if (is_resolving) {
        return; /* Leaks the text of one error. */
    }
    is_resolving = 1;
    REAL(free)
    is_resolving = 0;
    if (is_watched(memory) && is_between(memory, 2)) {
        report_release(memory, malloc_usable_size(memory), "free");
    }
    call(memory);
}

EXPORT void *realloc(void *memory, size_t size)
{
    REAL(realloc)
    /* By definition the old memory is released, even if the new one has the same address. */
    if (is_watched(memory) && is_between(memory, 2)) {
        report_release(memory, malloc_usable_size(memory), "realloc");
    }
    return call(memory, size);
}

EXPORT int munmap(void *memory, size_t size)
{
    REAL(munmap)
    uintptr_t first = atomic_load_explicit(&softacl_interposer_bounds[2], memory_order_relaxed);
    uintptr_t last = atomic_load_explicit(&softacl_interposer_bounds[3], memory_order_acquire);
    if (last != 0 && (uintptr_t)memory <= last && (uintptr_t)memory + size > first) {
        report_release(memory, size, "munmap");
    }
    return call(memory, size);
}
