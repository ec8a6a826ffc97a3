// soc: Ascend910B
// softacl-only
// must-find: H1 H3
/* Bytes that really arrive in memory in flight are reported, and the call succeeds. */
#include "../expect.h"
#include "neighbor.h"

int main(void)
{
    struct neighbor n = neighbor_begin();
    int ends[2];
    char text[200];
    memset(text, 'c', sizeof text);
    REQUIRE_TRUE(pipe(ends) == 0 && write(ends[1], text, sizeof text) == sizeof text, "pipe");
    EXPECT_TRUE(read(ends[0], n.to + FIRST - 50, 100) == 100, "read"); /* H3 */
    EXPECT_TRUE(read(ends[0], n.from + FIRST - 50, 1000) == 100, "read"); /* H1 */
    EXPECT_TRUE(close(ends[0]) == 0 && close(ends[1]) == 0, "close");
    neighbor_free(&n);
    return finish();
}
