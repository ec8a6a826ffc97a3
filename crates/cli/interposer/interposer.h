/*
 * Shared by the files of the interposer: how memory of the program is announced and reported to the checker, and how the
 * replaced functions of the C library are found.
 */
#ifndef SOFTACL_INTERPOSER_H
#define SOFTACL_INTERPOSER_H

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#define EXPORT __attribute__((visibility("default")))

/* Finds the replaced function. */
#define REAL(name)                                                                                                     \
    static _Atomic(void *) real_##name;                                                                                \
    __typeof__(&name) call = (__typeof__(&name))atomic_load_explicit(&real_##name, memory_order_relaxed);              \
    if (call == NULL) {                                                                                                \
        call = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                                             \
        atomic_store_explicit(&real_##name, (void *)call, memory_order_relaxed);                                       \
    }

/* True if the memory may be watched. NULL never is. */
int is_watched(const void *address);

/* True if any memory is watched. */
int is_anything_watched(void);

/* Announces memory that a system call is about to use. */
void begin_access(const void *start, size_t size, int is_write, const char *function);

/* Ends an access of which the call has used `done` bytes; negative if it failed. */
void end_access(const void *start, size_t size, ssize_t done);

/* Reports bytes that a function has read and used. */
void report_read(const void *start, size_t size, const char *function);

/* Reports the use of an object on which threads wait. */
void report_object(const void *start, size_t size);

/* Reports memory that becomes a stack: a signal cannot be delivered on a protected one. */
void report_stack(const void *start, size_t size);

/* Length of a text, which the caller reports. */
size_t length_of(const char *text);

/* Size of a text with its end, if it may be watched; otherwise 0. */
size_t watched_text(const char *text);

/* ---- calls with several pointers --------------------------------------------------------------------------------- */

enum use {
    READ,    /* read if the call succeeds */
    WRITE,   /* written, and perhaps read before, if the call succeeds */
    WHOLE,   /* read whether the call succeeds or not, as texts are */
    UNKNOWN, /* perhaps used: nothing is reported, except that it was not judged */
};

/* Memory that a call uses through one of its pointers. */
struct memory {
    const void *start;
    size_t size;
    enum use use;
    size_t used; /* bytes that count if the call succeeds */
};

#define BYTES(pointer, size, use) {(pointer), (size), (use), (size)}
#define IN(pointer) BYTES(pointer, sizeof *(pointer), READ)
#define OUT(pointer) BYTES(pointer, sizeof *(pointer), WRITE)
#define TEXT(pointer) BYTES(pointer, watched_text(pointer), WHOLE)
/* Memory of unknown size: at most the rest of its page. */
#define REST(pointer) BYTES(pointer, 4096 - (size_t)(pointer) % 4096, UNKNOWN)

/* Announces memory before a call, and reports afterwards what the call used. `end_call` expects the same array. */
void begin_call(const struct memory *all, size_t count, const char *function);
void end_call(const struct memory *all, size_t count, int has_succeeded);

/* Does the same for the parts of a vector, of which the call has used `done` bytes together. */
void begin_parts(const struct iovec *parts, size_t count, int is_write, const char *function);
void end_parts(const struct iovec *parts, size_t count, ssize_t done);

#define UNWRAP(...) __VA_ARGS__

/*
 * Body of a replaced function: forwards the call between the announcement of its memory and the report of what it
 * used. `memories` is a list in parentheses. `has_succeeded` and `adjust`, which may correct `all[i].used`, refer to
 * `result`.
 */
#define CALL_ADJUSTED(type, name, has_succeeded, memories, adjust, ...)                                                \
    REAL(name)                                                                                                         \
    if (call == NULL) { /* The C library is older than the function. */                                                \
        errno = ENOSYS;                                                                                                \
        return (type)-1;                                                                                               \
    }                                                                                                                  \
    struct memory all[] = {UNWRAP memories};                                                                           \
    begin_call(all, sizeof all / sizeof *all, #name);                                                                  \
    type result = call(__VA_ARGS__);                                                                                   \
    adjust;                                                                                                            \
    end_call(all, sizeof all / sizeof *all, has_succeeded);                                                            \
    return result;

/* Body of a function that returns a negative value if it fails. */
#define CALL(type, name, memories, ...) CALL_ADJUSTED(type, name, result >= 0, memories, (void)0, __VA_ARGS__)

/* Body of a function that returns the number of bytes that it used of its first memory. */
#define CALL_SIZED(type, name, memories, ...)                                                                          \
    CALL_ADJUSTED(type, name, result >= 0, memories, all[0].used = (size_t)result, __VA_ARGS__)

/* Body of a function that returns an error number. */
#define CALL_CODE(name, memories, ...) CALL_ADJUSTED(int, name, result == 0, memories, (void)0, __VA_ARGS__)

/* Body of a function that returns a pointer, or NULL if it fails. */
#define CALL_POINTER(type, name, memories, ...)                                                                        \
    CALL_ADJUSTED(type, name, result != NULL, memories, (void)0, __VA_ARGS__)

#endif
