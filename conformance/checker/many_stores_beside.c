// soc: Ascend910B
// softacl-only
// must-find: H1 H3
// must-count: H3
/* Many stores beside the bytes in flight do not hide later stores into them. Where the checker gives up, it says so. */
#include "../expect.h"
#include "neighbor.h"

int main(void)
{
    struct neighbor n = neighbor_begin();
    volatile char *to = n.to, *from = n.from;
    for (int i = 0; i < 2000; i++) {
        to[i % FIRST] = 1;
    }
    to[FIRST + 5] = 9; /* H3 */
    for (int i = 0; i < 2000; i++) {
        from[i % FIRST] = 1;
    }
    from[FIRST + 5] = 9; /* H1 */
    EXPECT_OK(aclrtSynchronizeStream(n.stream));
    EXPECT_OK(aclrtFreeHost(n.to));
    EXPECT_OK(aclrtFreeHost(n.from));
    EXPECT_OK(aclrtFree(n.device));
    EXPECT_OK(aclrtDestroyStream(n.stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
