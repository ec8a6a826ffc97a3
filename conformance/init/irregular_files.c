// soc: Ascend910B
// softacl-only
/* aclInit with a path that is not a regular file of a reasonable size: an error, at once. */
#include "../expect.h"

#include <fcntl.h>
#include <sys/stat.h>

static void expect_unusable(const char *path)
{
    aclError got = aclInit(path);
    EXPECT_TRUE(got >= 100003 && got <= 100010, "%s returned %d", path, got);
}

int main(void)
{
    expect_unusable("/dev/zero"); /* never ends */
    expect_unusable("/dev/null");
    expect_unusable("/dev/tty");
    expect_unusable("/proc/self/fd");
    char directory[] = "/tmp/conformance-XXXXXX", fifo[64], large[64];
    REQUIRE_TRUE(mkdtemp(directory) != NULL, "mkdtemp");
    snprintf(fifo, sizeof fifo, "%s/fifo", directory);
    REQUIRE_TRUE(mkfifo(fifo, 0600) == 0, "mkfifo");
    expect_unusable(fifo); /* has no writer, so that opening it would block */
    snprintf(large, sizeof large, "%s/large", directory);
    int file = open(large, O_CREAT | O_WRONLY, 0600);
    REQUIRE_TRUE(file >= 0 && ftruncate(file, (off_t)1 << 40) == 0, "ftruncate"); /* 1 TiB of zeroes */
    close(file);
    expect_unusable(large);
    unlink(large);
    unlink(fifo);
    rmdir(directory);
    EXPECT_OK(aclInit(NULL)); /* failed calls are not counted */
    EXPECT_OK(aclFinalize());
    return finish();
}
