// soc: Ascend910B
// softacl-only
// must-find: H1 H3
/* A time that is written to memory in flight is reported. */
#include "../expect.h"
#include "neighbor.h"

int main(void)
{
    struct neighbor n = neighbor_begin();
    struct timespec *times[] = {(struct timespec *)(n.to + FIRST), (struct timespec *)(n.from + FIRST)}; /* H3, H1 */
    for (int i = 0; i < 2; i++) {
        EXPECT_TRUE(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, times[i]) == 0, "clock_gettime: %s", strerror(errno));
    }
    neighbor_free(&n);
    return finish();
}
