/*
 * String functions of the C library. They load whole vectors, so their loads say nothing about the bytes that they use,
 * and the checker does not count them. What they used follows from their results, and is reported here. A comparison of
 * watched memory is made byte by byte: its result does not say where it ended.
 */
#include "interposer.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* glibc 2.43 and newer also define these as macros that keep `const`. */
#undef memchr
#undef strchr
#undef strpbrk
#undef strrchr
#undef strstr

EXPORT size_t strlen(const char *text)
{
    REAL(strlen)
    size_t result = call(text);
    report_read(text, result + 1, "strlen");
    return result;
}

EXPORT size_t strnlen(const char *text, size_t size)
{
    REAL(strnlen)
    size_t result = call(text, size);
    report_read(text, result < size ? result + 1 : size, "strnlen");
    return result;
}

#define SEARCH(name, used)                                                                                             \
    REAL(name)                                                                                                         \
    char *result = call(text, wanted);                                                                                 \
    if (is_watched(text)) {                                                                                            \
        report_read(text, used, #name);                                                                                \
    }                                                                                                                  \
    return result;

#define UP_TO_RESULT (result == NULL ? length_of(text) + 1 : (size_t)(result - text) + 1)

EXPORT char *strchr(const char *text, int wanted)
{
    SEARCH(strchr, UP_TO_RESULT)
}

EXPORT char *index(const char *text, int wanted)
{
    SEARCH(index, UP_TO_RESULT)
}

EXPORT char *strchrnul(const char *text, int wanted)
{
    SEARCH(strchrnul, UP_TO_RESULT)
}

EXPORT char *strrchr(const char *text, int wanted)
{
    SEARCH(strrchr, length_of(text) + 1)
}

EXPORT char *rindex(const char *text, int wanted)
{
    SEARCH(rindex, length_of(text) + 1)
}

EXPORT char *strpbrk(const char *text, const char *wanted)
{
    SEARCH(strpbrk, UP_TO_RESULT)
}

EXPORT char *strstr(const char *text, const char *wanted)
{
    SEARCH(strstr, result == NULL ? length_of(text) + 1 : (size_t)(result - text) + length_of(wanted))
}

EXPORT void *memchr(const void *memory, int wanted, size_t size)
{
    REAL(memchr)
    void *result = call(memory, wanted, size);
    report_read(memory, result == NULL ? size : (size_t)((char *)result - (const char *)memory) + 1, "memchr");
    return result;
}

EXPORT void *memrchr(const void *memory, int wanted, size_t size)
{
    REAL(memrchr)
    char *result = call(memory, wanted, size);
    size_t skipped = result == NULL ? 0 : (size_t)(result - (const char *)memory);
    report_read((const char *)memory + skipped, size - skipped, "memrchr");
    return result;
}

EXPORT void *rawmemchr(const void *memory, int wanted)
{
    REAL(rawmemchr)
    void *result = call(memory, wanted);
    report_read(memory, (size_t)((char *)result - (const char *)memory) + 1, "rawmemchr");
    return result;
}

EXPORT void *memmem(const void *memory, size_t size, const void *wanted, size_t length)
{
    REAL(memmem)
    char *result = call(memory, size, wanted, length);
    report_read(memory, result == NULL ? size : (size_t)(result - (const char *)memory) + length, "memmem");
    return result;
}

#define SPAN(name)                                                                                                     \
    EXPORT size_t name(const char *text, const char *set)                                                              \
    {                                                                                                                  \
        REAL(name)                                                                                                     \
        size_t result = call(text, set);                                                                               \
        report_read(text, result + 1, #name);                                                                          \
        return result;                                                                                                 \
    }

SPAN(strspn)
SPAN(strcspn)

#define COPY_TEXT(name)                                                                                                \
    EXPORT char *name(char *restrict to, const char *restrict from)                                                    \
    {                                                                                                                  \
        REAL(name)                                                                                                     \
        char *result = call(to, from);                                                                                 \
        if (is_watched(from)) {                                                                                        \
            report_read(from, length_of(from) + 1, #name);                                                                \
        }                                                                                                              \
        return result;                                                                                                 \
    }

COPY_TEXT(strcpy)
COPY_TEXT(stpcpy)
COPY_TEXT(strcat)

#define COPY_PART(name)                                                                                                \
    EXPORT char *name(char *restrict to, const char *restrict from, size_t size)                                       \
    {                                                                                                                  \
        REAL(name)                                                                                                     \
        char *result = call(to, from, size);                                                                           \
        if (is_watched(from)) {                                                                                        \
            (void)!strnlen(from, size);                                                                                \
        }                                                                                                              \
        return result;                                                                                                 \
    }

COPY_PART(strncpy)
COPY_PART(stpncpy)
COPY_PART(strncat)

/* Compares byte by byte. `volatile`, so that the compiler does not widen the loads. */
static int compare(const char *one, const char *other, size_t size, int ignores_case)
{
    const volatile unsigned char *a = (const volatile unsigned char *)one, *b = (const volatile unsigned char *)other;
    for (size_t i = 0; i < size; i++) {
        int left = a[i], right = b[i];
        int end = left == 0;
        if (ignores_case) {
            left = tolower(left);
            right = tolower(right);
        }
        if (left != right || end) {
            return left - right;
        }
    }
    return 0;
}

#define COMPARE(name, ignores_case)                                                                                    \
    EXPORT int name(const char *one, const char *other)                                                                \
    {                                                                                                                  \
        REAL(name)                                                                                                     \
        return is_watched(one) || is_watched(other) ? compare(one, other, SIZE_MAX, ignores_case) : call(one, other);  \
    }

COMPARE(strcmp, 0)
COMPARE(strcasecmp, 1)

#define COMPARE_PART(name, ignores_case)                                                                               \
    EXPORT int name(const char *one, const char *other, size_t size)                                                   \
    {                                                                                                                  \
        REAL(name)                                                                                                     \
        return is_watched(one) || is_watched(other) ? compare(one, other, size, ignores_case) : call(one, other, size);\
    }

COMPARE_PART(strncmp, 0)
COMPARE_PART(strncasecmp, 1)
