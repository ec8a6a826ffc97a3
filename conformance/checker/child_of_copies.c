// soc: Ascend910B
// softacl-only
// sanitize: none (forks)
// must-count: H1 H3
/* A forked child may use pinned memory; the checker cannot judge it and counts it, and the child must not fail. */
#include "../expect.h"
#include "neighbor.h"

int main(void)
{
    struct neighbor n = neighbor_begin();
    pid_t child = fork();
    if (child == 0) {
        char c = n.to[FIRST];
        n.to[0] = c;
        int ends[2];
        _exit(pipe(ends) == 0 && write(ends[1], "abc", 3) == 3 && read(ends[0], n.from + 10, 100) == 3 ? 0 : 1);
    }
    int status = 1;
    EXPECT_TRUE(waitpid(child, &status, 0) == child && status == 0, "status %d", status);
    neighbor_end(&n);
    return finish();
}
