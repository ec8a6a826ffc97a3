// soc: Ascend910B
// softacl-only
/* Paths, small results and output texts may be in the page of a copy: the system reads and writes only them. */
#include "../expect.h"
#include "neighbor.h"
#include <fcntl.h>
#include <sys/stat.h>

int main(void)
{
    struct neighbor n = neighbor_begin();
    char *path = n.to + 64, *link = n.to + 200, *text = n.to + AFTER;
    struct stat *status = (struct stat *)(n.to + 512);
    snprintf(path, 100, "/tmp/softacl-texts-%d", (int)getpid());
    strcpy(text, "a line beside a copy\n");
    int file = open(path, O_CREAT | O_RDWR, 0600);
    REQUIRE_TRUE(file >= 0, "open: %s", strerror(errno));
    EXPECT_TRUE(write(file, text, strlen(text)) == (ssize_t)strlen(text), "write");
    EXPECT_TRUE(stat(path, status) == 0 && status->st_size == (off_t)strlen(text), "stat");
    EXPECT_TRUE(fstat(file, status) == 0 && access(path, R_OK) == 0, "fstat, access");
    EXPECT_TRUE(readlink("/proc/self/exe", link, 300) > 0, "readlink: %s", strerror(errno));
    EXPECT_TRUE(getcwd(link, 300) == link, "getcwd");
    FILE *stream = fopen(path, "w");
    REQUIRE_TRUE(stream != NULL, "fopen");
    EXPECT_TRUE(setvbuf(stream, NULL, _IONBF, 0) == 0, "setvbuf");
    EXPECT_TRUE(fputs(text, stream) >= 0 && fwrite(text, 1, 5, stream) == 5, "fputs");
    EXPECT_TRUE(fprintf(stream, "%s%.3s", text, text) > 0, "fprintf: %s", strerror(errno));
    EXPECT_TRUE(fclose(stream) == 0, "fclose");
    EXPECT_TRUE(stat(path, status) == 0 && status->st_size == (off_t)(2 * strlen(text) + 8), "size %ld",
                (long)status->st_size);
    EXPECT_TRUE(close(file) == 0 && unlink(path) == 0, "unlink");
    neighbor_end(&n);
    return finish();
}
