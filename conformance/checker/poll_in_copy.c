// soc: Ascend910B
// softacl-only
// must-find: H1 H3
/* A list of files in memory in flight is reported. */
#include "../expect.h"
#include "neighbor.h"
#include <poll.h>

int main(void)
{
    struct neighbor n = neighbor_begin();
    /* The call writes the last bytes of each list: H3 and H1. The program writes only the bytes before the copy. */
    struct pollfd *lists[] = {(struct pollfd *)(n.to + FIRST - 8), (struct pollfd *)(n.from + FIRST - 8)};
    for (int i = 0; i < 2; i++) {
        lists[i][0] = (struct pollfd){.fd = -1};
        EXPECT_TRUE(poll(lists[i], 2, 0) >= 0, "poll: %s", strerror(errno));
    }
    neighbor_free(&n);
    return finish();
}
