// soc: Ascend910B
// softacl-only
// must-find: H1 H3
/* The status of a file that is written to memory in flight is reported. */
#include "../expect.h"
#include "neighbor.h"
#include <fcntl.h>
#include <sys/stat.h>

int main(void)
{
    struct neighbor n = neighbor_begin();
    struct stat *results[] = {(struct stat *)(n.to + FIRST - 8), (struct stat *)(n.from + FIRST - 8)}; /* H3, H1 */
    for (int i = 0; i < 2; i++) {
        EXPECT_TRUE(fstatat(AT_FDCWD, "/tmp", results[i], 0) == 0, "fstatat: %s", strerror(errno));
    }
    neighbor_free(&n);
    return finish();
}
