/*
 * Input and output through FILE. Large transfers bypass the buffer of the FILE, so that the system gets memory of the
 * program. A formatted text may contain such memory anywhere: it is formatted into private memory first.
 */
#include "interposer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Macros in some versions of the library. */
#undef fread_unlocked
#undef fwrite_unlocked

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

/* The buffer of a FILE stays unprotected: the C library passes it to the system at any time. */
#define BUFFERED(type, name, parameters, size, ...)                                                                    \
    EXPORT type name parameters                                                                                        \
    {                                                                                                                  \
        REAL(name)                                                                                                     \
        if (is_watched(buffer)) {                                                                                      \
            report_object(buffer, size);                                                                               \
        }                                                                                                              \
        return call(__VA_ARGS__);                                                                                      \
    }

BUFFERED(int, setvbuf, (FILE *restrict file, char *restrict buffer, int mode, size_t room), room, file, buffer, mode,
         room)
BUFFERED(void, setbuf, (FILE *restrict file, char *restrict buffer), BUFSIZ, file, buffer)
BUFFERED(void, setbuffer, (FILE *restrict file, char *restrict buffer, size_t room), room, file, buffer, room)

/* ---- items and texts --------------------------------------------------------------------------------------------- */

#define ITEMS(name, use)                                                                                               \
    CALL_ADJUSTED(size_t, name, 1, (BYTES(buffer, size *count, use)), all[0].used = result * size, buffer, size,       \
                  count, file)

EXPORT size_t fread(void *restrict buffer, size_t size, size_t count, FILE *restrict file)
{
    ITEMS(fread, WRITE)
}

EXPORT size_t fwrite(const void *restrict buffer, size_t size, size_t count, FILE *restrict file)
{
    ITEMS(fwrite, READ)
}

EXPORT size_t fread_unlocked(void *restrict buffer, size_t size, size_t count, FILE *restrict file)
{
    ITEMS(fread_unlocked, WRITE)
}

EXPORT size_t fwrite_unlocked(const void *restrict buffer, size_t size, size_t count, FILE *restrict file)
{
    ITEMS(fwrite_unlocked, READ)
}

/* Variants of _FORTIFY_SOURCE. */
#define CHECKED_ITEMS(name)                                                                                            \
    size_t name(void *restrict buffer, size_t room, size_t size, size_t count, FILE *restrict file);                   \
    EXPORT size_t name(void *restrict buffer, size_t room, size_t size, size_t count, FILE *restrict file)             \
    {                                                                                                                  \
        CALL_ADJUSTED(size_t, name, 1, (BYTES(buffer, size *count, WRITE)), all[0].used = result * size, buffer, room, \
                      size, count, file)                                                                               \
    }

CHECKED_ITEMS(__fread_chk)
CHECKED_ITEMS(__fread_unlocked_chk)

EXPORT int fputs(const char *restrict text, FILE *restrict file)
{
    CALL(int, fputs, (TEXT(text)), text, file)
}

EXPORT int fputs_unlocked(const char *restrict text, FILE *restrict file)
{
    CALL(int, fputs_unlocked, (TEXT(text)), text, file)
}

EXPORT int puts(const char *text)
{
    CALL(int, puts, (TEXT(text)), text)
}

/* ---- formatted texts --------------------------------------------------------------------------------------------- */

int __vasprintf_chk(char **text, int flag, const char *restrict format, va_list rest);

/* Variants without _FORTIFY_SOURCE have no flag. */
#define NO_FLAG (-1)

/* True if a text of the program may be among the arguments, or if the format is one. */
static int may_have_text(const char *format)
{
    REAL(strchr)
    const char *conversion = call(format, '%');
    return is_watched(format) || (conversion != NULL && call(conversion, 's') != NULL);
}

/* Formats into private memory, which the caller frees. NULL if the function of the C library can do it. */
static char *formatted(int flag, const char *format, va_list rest, size_t *length)
{
    char *text = NULL;
    if (!is_anything_watched() || !may_have_text(format)) {
        return NULL;
    }
    va_list copy;
    va_copy(copy, rest);
    int result = flag == NO_FLAG ? vasprintf(&text, format, copy) : __vasprintf_chk(&text, flag, format, copy);
    va_end(copy);
    if (result < 0) {
        return NULL;
    }
    *length = (size_t)result;
    return text;
}

/* Writes and frees a formatted text. */
static int print(FILE *file, char *text, size_t length)
{
    size_t written = fwrite(text, 1, length, file);
    free(text);
    return written == length ? (int)length : -1;
}

/* Writes and frees a formatted text. */
static int print_to(int file, char *text, size_t length)
{
    size_t written = 0;
    while (written < length) {
        ssize_t result = write(file, text + written, length - written);
        if (result <= 0) {
            break;
        }
        written += (size_t)result;
    }
    free(text);
    return written == length ? (int)length : -1;
}

/* Body of a function with a list of arguments. */
#define FORMATTED(name, flag, print_text, ...)                                                                         \
    REAL(name)                                                                                                         \
    size_t length;                                                                                                     \
    char *text = formatted(flag, format, rest, &length);                                                               \
    return text == NULL ? call(__VA_ARGS__) : print_text;

/* Body of a function with variable arguments, which the function `body` takes as a list. */
#define VARIABLE(body, ...)                                                                                            \
    va_list rest;                                                                                                      \
    va_start(rest, format);                                                                                            \
    int result = body(__VA_ARGS__, rest);                                                                              \
    va_end(rest);                                                                                                      \
    return result;

EXPORT int vfprintf(FILE *restrict file, const char *restrict format, va_list rest)
{
    FORMATTED(vfprintf, NO_FLAG, print(file, text, length), file, format, rest)
}

EXPORT int vprintf(const char *restrict format, va_list rest)
{
    FORMATTED(vprintf, NO_FLAG, print(stdout, text, length), format, rest)
}

EXPORT int vdprintf(int file, const char *restrict format, va_list rest)
{
    FORMATTED(vdprintf, NO_FLAG, print_to(file, text, length), file, format, rest)
}

EXPORT int fprintf(FILE *restrict file, const char *restrict format, ...)
{
    VARIABLE(vfprintf, file, format)
}

EXPORT int printf(const char *restrict format, ...)
{
    VARIABLE(vprintf, format)
}

EXPORT int dprintf(int file, const char *restrict format, ...)
{
    VARIABLE(vdprintf, file, format)
}

int __vfprintf_chk(FILE *restrict file, int flag, const char *restrict format, va_list rest);
int __vprintf_chk(int flag, const char *restrict format, va_list rest);
int __vdprintf_chk(int file, int flag, const char *restrict format, va_list rest);
int __fprintf_chk(FILE *restrict file, int flag, const char *restrict format, ...);
int __printf_chk(int flag, const char *restrict format, ...);
int __dprintf_chk(int file, int flag, const char *restrict format, ...);

EXPORT int __vfprintf_chk(FILE *restrict file, int flag, const char *restrict format, va_list rest)
{
    FORMATTED(__vfprintf_chk, flag, print(file, text, length), file, flag, format, rest)
}

EXPORT int __vprintf_chk(int flag, const char *restrict format, va_list rest)
{
    FORMATTED(__vprintf_chk, flag, print(stdout, text, length), flag, format, rest)
}

EXPORT int __vdprintf_chk(int file, int flag, const char *restrict format, va_list rest)
{
    FORMATTED(__vdprintf_chk, flag, print_to(file, text, length), file, flag, format, rest)
}

EXPORT int __fprintf_chk(FILE *restrict file, int flag, const char *restrict format, ...)
{
    VARIABLE(__vfprintf_chk, file, flag, format)
}

EXPORT int __printf_chk(int flag, const char *restrict format, ...)
{
    VARIABLE(__vprintf_chk, flag, format)
}

EXPORT int __dprintf_chk(int file, int flag, const char *restrict format, ...)
{
    VARIABLE(__vdprintf_chk, file, flag, format)
}
