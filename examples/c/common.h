/*
 * Helpers of the examples: exit at the first failing call and print why it failed.
 */
#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"

/* Makes an acl call. If it fails, prints its code and the runtime's message, and exits. */
#define CHECK(call)                                                                                \
    do {                                                                                           \
        aclError check_code = (call);                                                              \
        if (check_code != ACL_SUCCESS) {                                                           \
            const char *check_text = aclGetRecentErrMsg(); /* per thread; reading clears it */ \
            fprintf(stderr, "%s:%d: %s returned %d\n%s\n", __FILE__, __LINE__, #call, check_code,  \
                    check_text != NULL ? check_text : "(no message)");                             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Exits if a condition does not hold. */
#define VERIFY(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Returns a byte that depends on its position and a seed, so that misplaced data is detected. */
static inline uint8_t pattern_byte(size_t i, unsigned seed)
{
    return (uint8_t)(i * 31 + (i >> 8) * 7 + seed * 101 + 1);
}

static inline void fill_pattern(void *memory, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++) {
        ((uint8_t *)memory)[i] = pattern_byte(i, seed);
    }
}

static inline int has_pattern(const void *memory, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++) {
        if (((const uint8_t *)memory)[i] != pattern_byte(i, seed)) {
            return 0;
        }
    }
    return 1;
}

#endif
