/*
 * Functions that take paths, and what they return about files. A path counts as read even if the call fails.
 */
#include "interposer.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

/* ---- one path ---------------------------------------------------------------------------------------------------- */

/* A function whose only memory is its path. `parameters` and the arguments are lists in parentheses. */
#define PATH(type, name, parameters, arguments)                                                                        \
    EXPORT type name parameters                                                                                        \
    {                                                                                                                  \
        CALL(type, name, (TEXT(path)), UNWRAP arguments)                                                               \
    }

PATH(int, access, (const char *path, int mode), (path, mode))
PATH(int, eaccess, (const char *path, int mode), (path, mode))
PATH(int, euidaccess, (const char *path, int mode), (path, mode))
PATH(int, faccessat, (int directory, const char *path, int mode, int flags), (directory, path, mode, flags))
PATH(int, unlink, (const char *path), (path))
PATH(int, unlinkat, (int directory, const char *path, int flags), (directory, path, flags))
PATH(int, remove, (const char *path), (path))
PATH(int, mkdir, (const char *path, mode_t mode), (path, mode))
PATH(int, mkdirat, (int directory, const char *path, mode_t mode), (directory, path, mode))
PATH(int, rmdir, (const char *path), (path))
PATH(int, chdir, (const char *path), (path))
PATH(int, chroot, (const char *path), (path))
PATH(int, mkfifo, (const char *path, mode_t mode), (path, mode))
PATH(int, mkfifoat, (int directory, const char *path, mode_t mode), (directory, path, mode))
PATH(int, mknod, (const char *path, mode_t mode, dev_t device), (path, mode, device))
PATH(int, mknodat, (int directory, const char *path, mode_t mode, dev_t device), (directory, path, mode, device))
PATH(int, chmod, (const char *path, mode_t mode), (path, mode))
PATH(int, fchmodat, (int directory, const char *path, mode_t mode, int flags), (directory, path, mode, flags))
PATH(int, chown, (const char *path, uid_t user, gid_t group), (path, user, group))
PATH(int, lchown, (const char *path, uid_t user, gid_t group), (path, user, group))
PATH(int, fchownat, (int directory, const char *path, uid_t user, gid_t group, int flags),
     (directory, path, user, group, flags))
PATH(int, truncate, (const char *path, off_t size), (path, size))
PATH(int, truncate64, (const char *path, off64_t size), (path, size))
PATH(int, creat, (const char *path, mode_t mode), (path, mode))
PATH(int, creat64, (const char *path, mode_t mode), (path, mode))
PATH(long, pathconf, (const char *path, int name), (path, name))
PATH(int, inotify_add_watch, (int file, const char *path, uint32_t mask), (file, path, mask))
PATH(int, memfd_create, (const char *path, unsigned int flags), (path, flags))
PATH(key_t, ftok, (const char *path, int id), (path, id))
PATH(int, scandir,
     (const char *restrict path, struct dirent ***restrict list, int (*filter)(const struct dirent *),
      int (*compare)(const struct dirent **, const struct dirent **)),
     (path, list, filter, compare))
PATH(int, scandir64,
     (const char *restrict path, struct dirent64 ***restrict list, int (*filter)(const struct dirent64 *),
      int (*compare)(const struct dirent64 **, const struct dirent64 **)),
     (path, list, filter, compare))
PATH(int, nftw, (const char *path, __nftw_func_t visit, int depth, int flags), (path, visit, depth, flags))
PATH(int, nftw64, (const char *path, __nftw64_func_t visit, int depth, int flags), (path, visit, depth, flags))
PATH(int, ftw, (const char *path, __ftw_func_t visit, int depth), (path, visit, depth))
PATH(int, glob, (const char *restrict path, int flags, int (*failed)(const char *, int), glob_t *restrict found),
     (path, flags, failed, found))
PATH(int, glob64, (const char *restrict path, int flags, int (*failed)(const char *, int), glob64_t *restrict found),
     (path, flags, failed, found))

#define PATH_TO_POINTER(type, name, parameters, arguments)                                                             \
    EXPORT type name parameters                                                                                        \
    {                                                                                                                  \
        CALL_POINTER(type, name, (TEXT(path)), UNWRAP arguments)                                                       \
    }

PATH_TO_POINTER(FILE *, fopen, (const char *restrict path, const char *restrict mode), (path, mode))
PATH_TO_POINTER(FILE *, fopen64, (const char *restrict path, const char *restrict mode), (path, mode))
PATH_TO_POINTER(FILE *, freopen, (const char *restrict path, const char *restrict mode, FILE *restrict file),
                (path, mode, file))
PATH_TO_POINTER(FILE *, freopen64, (const char *restrict path, const char *restrict mode, FILE *restrict file),
                (path, mode, file))
PATH_TO_POINTER(DIR *, opendir, (const char *path), (path))
PATH_TO_POINTER(char *, canonicalize_file_name, (const char *path), (path))

/* The mode of a new file, if the call has one. */
#define MODE                                                                                                           \
    mode_t mode = 0;                                                                                                   \
    if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) {                                                  \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode = va_arg(rest, mode_t);                                                                                   \
        va_end(rest);                                                                                                  \
    }

#define OPEN(name)                                                                                                     \
    EXPORT int name(const char *path, int flags, ...)                                                                  \
    {                                                                                                                  \
        MODE                                                                                                           \
        CALL(int, name, (TEXT(path)), path, flags, mode)                                                               \
    }

OPEN(open)
OPEN(open64)

#define OPEN_AT(name)                                                                                                  \
    EXPORT int name(int directory, const char *path, int flags, ...)                                                   \
    {                                                                                                                  \
        MODE                                                                                                           \
        CALL(int, name, (TEXT(path)), directory, path, flags, mode)                                                    \
    }

OPEN_AT(openat)
OPEN_AT(openat64)

/* Variants of _FORTIFY_SOURCE for calls without a mode. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int directory, const char *path, int flags);
int __openat64_2(int directory, const char *path, int flags);

PATH(int, __open_2, (const char *path, int flags), (path, flags))
PATH(int, __open64_2, (const char *path, int flags), (path, flags))
PATH(int, __openat_2, (int directory, const char *path, int flags), (directory, path, flags))
PATH(int, __openat64_2, (int directory, const char *path, int flags), (directory, path, flags))

/* ---- two paths --------------------------------------------------------------------------------------------------- */

#define TWO_PATHS(name, parameters, arguments)                                                                         \
    EXPORT int name parameters                                                                                         \
    {                                                                                                                  \
        CALL(int, name, (TEXT(from), TEXT(to)), UNWRAP arguments)                                                      \
    }

TWO_PATHS(rename, (const char *from, const char *to), (from, to))
TWO_PATHS(renameat, (int old, const char *from, int new, const char *to), (old, from, new, to))
TWO_PATHS(renameat2, (int old, const char *from, int new, const char *to, unsigned int flags),
          (old, from, new, to, flags))
TWO_PATHS(link, (const char *from, const char *to), (from, to))
TWO_PATHS(linkat, (int old, const char *from, int new, const char *to, int flags), (old, from, new, to, flags))
TWO_PATHS(symlink, (const char *from, const char *to), (from, to))
TWO_PATHS(symlinkat, (const char *from, int new, const char *to), (from, new, to))

/* ---- templates of temporary names -------------------------------------------------------------------------------- */

/* The function replaces letters of the path. */
#define TEMPLATE BYTES(path, watched_text(path), WRITE)

#define TEMPORARY(name, parameters, arguments)                                                                         \
    EXPORT int name parameters                                                                                         \
    {                                                                                                                  \
        CALL(int, name, (TEMPLATE), UNWRAP arguments)                                                                  \
    }

TEMPORARY(mkstemp, (char *path), (path))
TEMPORARY(mkstemp64, (char *path), (path))
TEMPORARY(mkstemps, (char *path, int suffix), (path, suffix))
TEMPORARY(mkstemps64, (char *path, int suffix), (path, suffix))
TEMPORARY(mkostemp, (char *path, int flags), (path, flags))
TEMPORARY(mkostemp64, (char *path, int flags), (path, flags))
TEMPORARY(mkostemps, (char *path, int suffix, int flags), (path, suffix, flags))
TEMPORARY(mkostemps64, (char *path, int suffix, int flags), (path, suffix, flags))

EXPORT char *mkdtemp(char *path)
{
    CALL_POINTER(char *, mkdtemp, (TEMPLATE), path)
}

/* ---- status of files --------------------------------------------------------------------------------------------- */

#define STATUS(name, status_type, parameters, arguments)                                                               \
    EXPORT int name parameters                                                                                         \
    {                                                                                                                  \
        CALL(int, name, (TEXT(path), OUT(status)), UNWRAP arguments)                                                   \
    }

/* The variants of one function. Programs that were built with an old C library call those with a version. */
#define STATUS_OF(kind, status_type)                                                                                   \
    STATUS(kind, status_type, (const char *restrict path, struct status_type *restrict status), (path, status))

#define STATUS_WITH_VERSION(name, status_type)                                                                         \
    int name(int version, const char *path, struct status_type *status);                                               \
    STATUS(name, status_type, (int version, const char *path, struct status_type *status), (version, path, status))

#define STATUS_AT(name, status_type)                                                                                   \
    STATUS(name, status_type,                                                                                          \
           (int directory, const char *restrict path, struct status_type *restrict status, int flags),                 \
           (directory, path, status, flags))

#define STATUS_AT_WITH_VERSION(name, status_type)                                                                      \
    int name(int version, int directory, const char *path, struct status_type *status, int flags);                     \
    STATUS(name, status_type,                                                                                          \
           (int version, int directory, const char *path, struct status_type *status, int flags),                      \
           (version, directory, path, status, flags))

STATUS_OF(stat, stat)
STATUS_OF(stat64, stat64)
STATUS_OF(lstat, stat)
STATUS_OF(lstat64, stat64)
STATUS_OF(statfs, statfs)
STATUS_OF(statfs64, statfs64)
STATUS_OF(statvfs, statvfs)
STATUS_OF(statvfs64, statvfs64)
STATUS_AT(fstatat, stat)
STATUS_AT(fstatat64, stat64)
STATUS_WITH_VERSION(__xstat, stat)
STATUS_WITH_VERSION(__xstat64, stat64)
STATUS_WITH_VERSION(__lxstat, stat)
STATUS_WITH_VERSION(__lxstat64, stat64)
STATUS_AT_WITH_VERSION(__fxstatat, stat)
STATUS_AT_WITH_VERSION(__fxstatat64, stat64)

EXPORT int statx(int directory, const char *restrict path, int flags, unsigned int mask,
                 struct statx *restrict status)
{
    CALL(int, statx, (TEXT(path), OUT(status)), directory, path, flags, mask, status)
}

#define FILE_STATUS(name, type)                                                                                        \
    EXPORT int name(int file, struct type *status)                                                                     \
    {                                                                                                                  \
        CALL(int, name, (OUT(status)), file, status)                                                                   \
    }

FILE_STATUS(fstat, stat)
FILE_STATUS(fstat64, stat64)
FILE_STATUS(fstatfs, statfs)
FILE_STATUS(fstatfs64, statfs64)

#define FILE_STATUS_WITH_VERSION(name, type)                                                                           \
    int name(int version, int file, struct type *status);                                                              \
    EXPORT int name(int version, int file, struct type *status)                                                        \
    {                                                                                                                  \
        CALL(int, name, (OUT(status)), version, file, status)                                                          \
    }

FILE_STATUS_WITH_VERSION(__fxstat, stat)
FILE_STATUS_WITH_VERSION(__fxstat64, stat64)

/* ---- times of files ---------------------------------------------------------------------------------------------- */

#define TIMES BYTES(times, 2 * sizeof *times, READ)

EXPORT int utimensat(int directory, const char *path, const struct timespec times[2], int flags)
{
    CALL(int, utimensat, (TEXT(path), TIMES), directory, path, times, flags)
}

EXPORT int utimes(const char *path, const struct timeval times[2])
{
    CALL(int, utimes, (TEXT(path), TIMES), path, times)
}

EXPORT int lutimes(const char *path, const struct timeval times[2])
{
    CALL(int, lutimes, (TEXT(path), TIMES), path, times)
}

EXPORT int futimesat(int directory, const char *path, const struct timeval times[2])
{
    CALL(int, futimesat, (TEXT(path), TIMES), directory, path, times)
}

EXPORT int utime(const char *path, const struct utimbuf *times)
{
    CALL(int, utime, (TEXT(path), IN(times)), path, times)
}

EXPORT int futimens(int file, const struct timespec times[2])
{
    CALL(int, futimens, (TIMES), file, times)
}

/* ---- texts that are returned ------------------------------------------------------------------------------------- */

EXPORT ssize_t readlink(const char *restrict path, char *restrict buffer, size_t size)
{
    CALL_SIZED(ssize_t, readlink, (BYTES(buffer, size, WRITE), TEXT(path)), path, buffer, size)
}

EXPORT ssize_t readlinkat(int directory, const char *restrict path, char *restrict buffer, size_t size)
{
    CALL_SIZED(ssize_t, readlinkat, (BYTES(buffer, size, WRITE), TEXT(path)), directory, path, buffer, size)
}

EXPORT char *getcwd(char *buffer, size_t size)
{
    CALL_ADJUSTED(char *, getcwd, result != NULL, (BYTES(buffer, size, WRITE)), all[0].used = watched_text(result),
                  buffer, size)
}

EXPORT char *realpath(const char *restrict path, char *restrict buffer)
{
    CALL_ADJUSTED(char *, realpath, result != NULL, (TEXT(path), BYTES(buffer, PATH_MAX, WRITE)),
                  all[1].used = watched_text(result), path, buffer)
}

#define TERMINAL(name)                                                                                                 \
    EXPORT int name(int file, char *buffer, size_t size)                                                               \
    {                                                                                                                  \
        CALL_ADJUSTED(int, name, result == 0, (BYTES(buffer, size, WRITE)),                                            \
                      all[0].used = result == 0 ? watched_text(buffer) : 0, file, buffer, size)                        \
    }

TERMINAL(ttyname_r)
TERMINAL(ptsname_r)

/* Variants of _FORTIFY_SOURCE: only those that would end the program are forwarded. */
ssize_t __readlink_chk(const char *restrict path, char *restrict buffer, size_t size, size_t room);
ssize_t __readlinkat_chk(int directory, const char *restrict path, char *restrict buffer, size_t size, size_t room);
char *__getcwd_chk(char *buffer, size_t size, size_t room);
char *__realpath_chk(const char *restrict path, char *restrict buffer, size_t room);
int __ttyname_r_chk(int file, char *buffer, size_t size, size_t room);
int __ptsname_r_chk(int file, char *buffer, size_t size, size_t room);

EXPORT ssize_t __readlink_chk(const char *restrict path, char *restrict buffer, size_t size, size_t room)
{
    REAL(__readlink_chk)
    return size <= room ? readlink(path, buffer, size) : call(path, buffer, size, room);
}

EXPORT ssize_t __readlinkat_chk(int directory, const char *restrict path, char *restrict buffer, size_t size,
                                size_t room)
{
    REAL(__readlinkat_chk)
    return size <= room ? readlinkat(directory, path, buffer, size) : call(directory, path, buffer, size, room);
}

EXPORT char *__getcwd_chk(char *buffer, size_t size, size_t room)
{
    REAL(__getcwd_chk)
    return size <= room ? getcwd(buffer, size) : call(buffer, size, room);
}

EXPORT char *__realpath_chk(const char *restrict path, char *restrict buffer, size_t room)
{
    REAL(__realpath_chk)
    return room >= PATH_MAX ? realpath(path, buffer) : call(path, buffer, room);
}

EXPORT int __ttyname_r_chk(int file, char *buffer, size_t size, size_t room)
{
    REAL(__ttyname_r_chk)
    return size <= room ? ttyname_r(file, buffer, size) : call(file, buffer, size, room);
}

EXPORT int __ptsname_r_chk(int file, char *buffer, size_t size, size_t room)
{
    REAL(__ptsname_r_chk)
    return size <= room ? ptsname_r(file, buffer, size) : call(file, buffer, size, room);
}

/* ---- extended attributes ----------------------------------------------------------------------------------------- */

#define VALUE(use) BYTES(value, size, use)

#define ATTRIBUTES_OF(get, list, set, discard)                                                                         \
    EXPORT ssize_t get(const char *path, const char *name, void *value, size_t size)                                   \
    {                                                                                                                  \
        CALL_SIZED(ssize_t, get, (VALUE(WRITE), TEXT(path), TEXT(name)), path, name, value, size)                      \
    }                                                                                                                  \
    EXPORT ssize_t list(const char *path, char *value, size_t size)                                                    \
    {                                                                                                                  \
        CALL_SIZED(ssize_t, list, (VALUE(WRITE), TEXT(path)), path, value, size)                                       \
    }                                                                                                                  \
    EXPORT int set(const char *path, const char *name, const void *value, size_t size, int flags)                      \
    {                                                                                                                  \
        CALL(int, set, (TEXT(path), TEXT(name), VALUE(READ)), path, name, value, size, flags)                          \
    }                                                                                                                  \
    EXPORT int discard(const char *path, const char *name)                                                             \
    {                                                                                                                  \
        CALL(int, discard, (TEXT(path), TEXT(name)), path, name)                                                       \
    }

ATTRIBUTES_OF(getxattr, listxattr, setxattr, removexattr)
ATTRIBUTES_OF(lgetxattr, llistxattr, lsetxattr, lremovexattr)

EXPORT ssize_t fgetxattr(int file, const char *name, void *value, size_t size)
{
    CALL_SIZED(ssize_t, fgetxattr, (VALUE(WRITE), TEXT(name)), file, name, value, size)
}

EXPORT ssize_t flistxattr(int file, char *value, size_t size)
{
    CALL_SIZED(ssize_t, flistxattr, (VALUE(WRITE)), file, value, size)
}

EXPORT int fsetxattr(int file, const char *name, const void *value, size_t size, int flags)
{
    CALL(int, fsetxattr, (TEXT(name), VALUE(READ)), file, name, value, size, flags)
}

EXPORT int fremovexattr(int file, const char *name)
{
    CALL(int, fremovexattr, (TEXT(name)), file, name)
}
