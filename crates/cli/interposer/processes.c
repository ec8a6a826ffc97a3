/*
 * Programs that are started, with their paths, arguments and environments, and processes that are waited for. A child
 * of vfork may call these functions: they keep their data on the stack.
 */
#include "interposer.h"

#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/* Announces a list of texts that ends with NULL. */
static void begin_texts(char *const *texts, const char *function)
{
    size_t count = 0;
    while (texts != NULL && texts[count] != NULL) {
        count++;
    }
    begin_access(texts, (count + 1) * sizeof *texts, 0, function);
    for (size_t i = 0; i < count; i++) {
        begin_access(texts[i], watched_text(texts[i]), 0, function);
    }
}

static void end_texts(char *const *texts)
{
    size_t count = 0;
    while (texts != NULL && texts[count] != NULL) {
        size_t size = watched_text(texts[count]);
        end_access(texts[count], size, (ssize_t)size);
        count++;
    }
    end_access(texts, (count + 1) * sizeof *texts, (ssize_t)((count + 1) * sizeof *texts));
}

/* Starts a program with arguments and an environment. Returns only if a child runs it, or if the call fails. */
#define START(name, path, arguments, environment, ...)                                                                 \
    REAL(name)                                                                                                         \
    if (!is_anything_watched()) {                                                                                      \
        return call(__VA_ARGS__);                                                                                      \
    }                                                                                                                  \
    size_t size = watched_text(path);                                                                                  \
    begin_access(path, size, 0, #name);                                                                                \
    begin_texts(arguments, #name);                                                                                     \
    begin_texts(environment, #name);                                                                                   \
    int result = call(__VA_ARGS__);                                                                                    \
    end_texts(environment);                                                                                            \
    end_texts(arguments);                                                                                              \
    end_access(path, size, (ssize_t)size);                                                                             \
    return result;

EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
    START(execve, path, arguments, environment, path, arguments, environment)
}

EXPORT int execv(const char *path, char *const arguments[])
{
    START(execv, path, arguments, environ, path, arguments)
}

EXPORT int execvp(const char *path, char *const arguments[])
{
    START(execvp, path, arguments, environ, path, arguments)
}

EXPORT int execvpe(const char *path, char *const arguments[], char *const environment[])
{
    START(execvpe, path, arguments, environment, path, arguments, environment)
}

EXPORT int fexecve(int file, char *const arguments[], char *const environment[])
{
    START(fexecve, NULL, arguments, environment, file, arguments, environment)
}

/* Since glibc 2.34. Defined always: a portable build may run on a newer one. */
EXPORT int execveat(int directory, const char *path, char *const arguments[], char *const environment[], int flags)
{
    START(execveat, path, arguments, environment, directory, path, arguments, environment, flags)
}

/* Collects the arguments of a call that lists them, up to NULL, as the C library does. */
#define COLLECT                                                                                                        \
    va_list rest;                                                                                                      \
    size_t count = 1;                                                                                                  \
    va_start(rest, first);                                                                                             \
    while (va_arg(rest, const char *) != NULL) {                                                                       \
        count++;                                                                                                       \
    }                                                                                                                  \
    va_end(rest);                                                                                                      \
    char *arguments[count + 1];                                                                                        \
    arguments[0] = (char *)first;                                                                                      \
    va_start(rest, first);                                                                                             \
    for (size_t i = 1; i <= count; i++) {                                                                              \
        arguments[i] = va_arg(rest, char *);                                                                           \
    }

EXPORT int execl(const char *path, const char *first, ...)
{
    COLLECT
    va_end(rest);
    return execv(path, arguments);
}

EXPORT int execlp(const char *path, const char *first, ...)
{
    COLLECT
    va_end(rest);
    return execvp(path, arguments);
}

EXPORT int execle(const char *path, const char *first, ...)
{
    COLLECT
    char *const *environment = va_arg(rest, char *const *);
    va_end(rest);
    return execve(path, arguments, environment);
}

#define SPAWN(name)                                                                                                    \
    EXPORT int name(pid_t *restrict child, const char *restrict path,                                                  \
                    const posix_spawn_file_actions_t *restrict actions, const posix_spawnattr_t *restrict attributes,  \
                    char *const arguments[restrict], char *const environment[restrict])                                \
    {                                                                                                                  \
        START(name, path, arguments, environment, child, path, actions, attributes, arguments, environment)            \
    }

SPAWN(posix_spawn)
SPAWN(posix_spawnp)

EXPORT int system(const char *command)
{
    CALL(int, system, (TEXT(command)), command)
}

EXPORT FILE *popen(const char *command, const char *mode)
{
    CALL_POINTER(FILE *, popen, (TEXT(command)), command, mode)
}

/* ---- ends of processes ------------------------------------------------------------------------------------------- */

/* Nothing is written if no process has ended. */
#define ENDED(name, memories, ...) CALL_ADJUSTED(pid_t, name, result > 0, memories, (void)0, __VA_ARGS__)

EXPORT pid_t wait(int *status)
{
    ENDED(wait, (OUT(status)), status)
}

EXPORT pid_t waitpid(pid_t process, int *status, int options)
{
    ENDED(waitpid, (OUT(status)), process, status, options)
}

EXPORT pid_t wait3(int *status, int options, struct rusage *usage)
{
    ENDED(wait3, (OUT(status), OUT(usage)), status, options, usage)
}

EXPORT pid_t wait4(pid_t process, int *status, int options, struct rusage *usage)
{
    ENDED(wait4, (OUT(status), OUT(usage)), process, status, options, usage)
}

EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    CALL(int, waitid, (OUT(info)), type, id, info, options)
}
