/*
 * Helpers of the zoo programs: exit on unexpected errors, fill and compare words, print the verdict.
 * They contain no copy, wait or allocation that a case is about.
 */
#ifndef ZOO_H
#define ZOO_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"

/* Exits with an error message if a call fails. */
#define OK(call)                                                                                   \
    do {                                                                                           \
        aclError ok_code = (call);                                                                 \
        if (ok_code != ACL_SUCCESS) {                                                              \
            const char *ok_text = aclGetRecentErrMsg();                                            \
            fprintf(stderr, "%s:%d: %s returned %d\n%s\n", __FILE__, __LINE__, #call, ok_code,     \
                    ok_text != NULL ? ok_text : "(no message)");                                   \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Logs a failed call and returns 1; returns 0 on success. For programs that continue after errors. */
static inline int logged(const char *call, aclError code)
{
    if (code == ACL_SUCCESS) {
        return 0;
    }
    const char *text = aclGetRecentErrMsg();
    printf("%s: %d %s\n", call, code, text != NULL ? text : "");
    return 1;
}

static inline void begin(void)
{
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
}

static inline void end(void)
{
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
}

static inline void fill(void *memory, size_t words, uint32_t value)
{
    for (size_t i = 0; i < words; i++) {
        ((uint32_t *)memory)[i] = value;
    }
}

/* Counts the words that differ from `expected`. */
static inline size_t wrong_words(const void *memory, size_t words, uint32_t expected)
{
    size_t wrong = 0;
    for (size_t i = 0; i < words; i++) {
        wrong += ((const uint32_t *)memory)[i] != expected;
    }
    return wrong;
}

/* Counts words of device memory that differ. It makes a blocking copy: call it when no work is pending. */
static inline size_t wrong_on_device(const void *device, size_t words, uint32_t expected)
{
    size_t size = (words * 4 + 63) / 64 * 64;
    void *host = aligned_alloc(64, size);
    if (host == NULL) {
        exit(1);
    }
    OK(aclrtMemcpy(host, size, device, words * 4, ACL_MEMCPY_DEVICE_TO_HOST));
    size_t wrong = wrong_words(host, words, expected);
    free(host);
    return wrong;
}

/* Prints the line that `cargo xtask zoo` reads. Returns the exit code of the program. */
static inline int verdict(size_t wrong, size_t total, const char *what)
{
    if (wrong != 0) {
        printf("wrong: %zu of %zu %s\n", wrong, total, what);
    } else {
        printf("right: %zu %s\n", total, what);
    }
    return 0;
}

#endif
