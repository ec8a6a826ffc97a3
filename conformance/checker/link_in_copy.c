// soc: Ascend910B
// softacl-only
// must-find: H1 H3
/* A text that is written to memory in flight is reported, with the bytes that the call wrote. */
#include "../expect.h"
#include "neighbor.h"

int main(void)
{
    struct neighbor n = neighbor_begin();
    EXPECT_TRUE(readlink("/proc/self/exe", n.to + FIRST - 2, 1000) > 2, "readlink: %s", strerror(errno)); /* H3 */
    EXPECT_TRUE(readlink("/proc/self/exe", n.from + FIRST - 2, 1000) > 2, "readlink: %s", strerror(errno)); /* H1 */
    neighbor_free(&n);
    return finish();
}
