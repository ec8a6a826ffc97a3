// soc: Ascend910B
// softacl-only
/* Paths, and everything that calls return about files, may be in the page of a copy. */
#include "../expect.h"
#include "neighbor.h"
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <utime.h>

#define OK(call) EXPECT_TRUE((call) >= 0, "%s: %s", #call, strerror(errno))

static void change_names(char *path, char *other)
{
    int file = open(path, O_CREAT | O_RDWR, 0600);
    OK(file);
    OK(close(file));
    OK(rename(path, other));
    OK(renameat(AT_FDCWD, other, AT_FDCWD, path));
    OK(link(path, other));
    OK(unlink(other));
    OK(linkat(AT_FDCWD, path, AT_FDCWD, other, 0));
    OK(unlinkat(AT_FDCWD, other, 0));
    OK(symlink(path, other));
    OK(remove(other));
    OK(symlinkat(path, AT_FDCWD, other));
    OK(unlink(other));
    OK(truncate(path, 100));
    OK(chmod(path, 0644));
    OK(fchmodat(AT_FDCWD, path, 0600, 0));
    OK(chown(path, getuid(), (gid_t)-1));
    OK(access(path, R_OK));
    OK(faccessat(AT_FDCWD, path, R_OK, 0));
    OK(unlink(path));
    OK(mkfifo(path, 0600));
    OK(unlink(path));
    OK(mkdir(path, 0700));
    OK(chdir(path));
    OK(chdir("/"));
    OK(rmdir(path));
    OK(mkdirat(AT_FDCWD, path, 0700));
    DIR *directory = opendir(path);
    EXPECT_TRUE(directory != NULL && readdir(directory) != NULL && closedir(directory) == 0, "opendir");
    struct dirent **list;
    int count = scandir(path, &list, NULL, NULL);
    EXPECT_TRUE(count == 2, "scandir: %d", count);
    for (int i = 0; i < count; i++) {
        free(list[i]);
    }
    free(list);
    OK(rmdir(path));
}

static void change_times(char *path, char *memory)
{
    struct timespec *times = (struct timespec *)memory;
    struct timeval *old_times = (struct timeval *)(memory + 64);
    struct utimbuf *oldest_times = (struct utimbuf *)(memory + 128);
    struct stat status;
    int file = open(path, O_CREAT | O_RDWR, 0600);
    times[0].tv_sec = times[1].tv_sec = 5;
    old_times[0].tv_sec = old_times[1].tv_sec = 6;
    oldest_times->actime = oldest_times->modtime = 7;
    EXPECT_TRUE(utimensat(AT_FDCWD, path, times, 0) == 0 && fstat(file, &status) == 0 && status.st_mtime == 5,
                "utimensat");
    EXPECT_TRUE(utimes(path, old_times) == 0 && fstat(file, &status) == 0 && status.st_mtime == 6, "utimes");
    EXPECT_TRUE(utime(path, oldest_times) == 0 && fstat(file, &status) == 0 && status.st_mtime == 7, "utime");
    EXPECT_TRUE(futimens(file, times) == 0 && fstat(file, &status) == 0 && status.st_mtime == 5, "futimens");
    OK(close(file));
}

static void read_status(char *path, char *memory)
{
    struct stat *status = (struct stat *)memory;
    struct statx *more = (struct statx *)memory;
    struct statfs *system = (struct statfs *)memory;
    struct statvfs *portable = (struct statvfs *)memory;
    int file = open(path, O_RDONLY);
    EXPECT_TRUE(fstatat(AT_FDCWD, path, status, 0) == 0 && S_ISREG(status->st_mode), "fstatat: %s", strerror(errno));
    EXPECT_TRUE(lstat(path, status) == 0 && S_ISREG(status->st_mode), "lstat: %s", strerror(errno));
    EXPECT_TRUE(statx(AT_FDCWD, path, 0, STATX_ALL, more) == 0 && S_ISREG(more->stx_mode), "statx: %s",
                strerror(errno));
    EXPECT_TRUE(statfs(path, system) == 0 && system->f_bsize > 0, "statfs: %s", strerror(errno));
    EXPECT_TRUE(fstatfs(file, system) == 0 && system->f_bsize > 0, "fstatfs: %s", strerror(errno));
    EXPECT_TRUE(statvfs(path, portable) == 0 && portable->f_bsize > 0, "statvfs: %s", strerror(errno));
    OK(close(file));
}

/* `memory` is the last bytes before the copy: the room of the results reaches into it. */
static void read_texts(char *path, char *other, char *memory)
{
    char *real;
    size_t length = strlen(path);
    OK(symlink(path, other));
    EXPECT_TRUE(readlink(other, memory, 1000) == (ssize_t)length && memcmp(memory, path, length) == 0, "readlink");
    memset(memory, 0, length);
    EXPECT_TRUE(readlinkat(AT_FDCWD, other, memory, 1000) == (ssize_t)length && memcmp(memory, path, length) == 0,
                "readlinkat");
    OK(unlink(other));
    EXPECT_TRUE(getcwd(memory, 1000) == memory && strcmp(memory, "/") == 0, "getcwd");
    real = realpath(path, NULL);
    EXPECT_TRUE(real != NULL && strcmp(real, path) == 0, "realpath: %s", strerror(errno));
    free(real);
}

static void use_temporary_names(char *name)
{
    strcpy(name, "/tmp/softacl-XXXXXX");
    int file = mkstemp(name);
    EXPECT_TRUE(file >= 0 && strcmp(name, "/tmp/softacl-XXXXXX") != 0, "mkstemp: %s", strerror(errno));
    OK(close(file));
    OK(unlink(name));
    strcpy(name, "/tmp/softacl-XXXXXX");
    EXPECT_TRUE(mkdtemp(name) == name, "mkdtemp: %s", strerror(errno));
    OK(rmdir(name));
}

/* A file system may refuse attributes, but not with EFAULT. */
static void use_attributes(char *path, char *memory)
{
    char *name = memory, *value = memory + 32, *result = memory + 64;
    strcpy(name, "user.softacl");
    strcpy(value, "beside");
    if (setxattr(path, name, value, 6, 0) != 0) {
        EXPECT_TRUE(errno != EFAULT, "setxattr");
        return;
    }
    EXPECT_TRUE(getxattr(path, name, result, 64) == 6 && memcmp(result, "beside", 6) == 0, "getxattr");
    EXPECT_TRUE(listxattr(path, result, 64) > 0, "listxattr: %s", strerror(errno));
    OK(removexattr(path, name));
}

int main(void)
{
    struct neighbor n = neighbor_begin();
    char *pages[] = {n.to, n.from};
    OK(chdir("/"));
    for (int i = 0; i < 2; i++) {
        char *path = pages[i] + AFTER, *other = path + 100, *memory = path + 200;
        snprintf(path, 100, "/tmp/softacl-files-%d", (int)getpid());
        snprintf(other, 100, "/tmp/softacl-others-%d", (int)getpid());
        change_names(path, other);
        change_times(path, memory);
        read_status(path, memory);
        read_texts(path, other, pages[i] + FIRST - 100);
        use_attributes(path, memory);
        OK(unlink(path));
        use_temporary_names(memory);
    }
    neighbor_end(&n);
    return finish();
}
