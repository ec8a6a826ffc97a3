// soc: Ascend910B
// softacl-only
// sanitize: none (the sanitizer replaces the string functions)
// must-find: H3
/* A string function that uses bytes of a destination in flight: one finding for each. */
#include "../expect.h"
#include "neighbor.h"

int main(void)
{
    struct neighbor n = neighbor_begin();
    /* The text ends in the bytes in flight: they were zero before the copy. */
    memset(n.to + FIRST - 20, 'x', 20);
    EXPECT_TRUE(strlen(n.to + FIRST - 20) >= 20, "strlen"); /* H3 */
    neighbor_end(&n);
    return finish();
}
