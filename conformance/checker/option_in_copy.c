// soc: Ascend910B
// softacl-only
// must-find: H1 H3
/* An option that is written to memory in flight is reported, also if the length of the option is beside it. */
#include "../expect.h"
#include "neighbor.h"
#include <sys/socket.h>

int main(void)
{
    struct neighbor n = neighbor_begin();
    char *rooms[] = {n.to + FIRST, n.from + FIRST}; /* H3, H1 */
    int file = socket(AF_UNIX, SOCK_STREAM, 0);
    for (int i = 0; i < 2; i++) {
        socklen_t *length = (socklen_t *)(rooms[i] - sizeof *length);
        *length = sizeof(int);
        EXPECT_TRUE(getsockopt(file, SOL_SOCKET, SO_TYPE, rooms[i], length) == 0, "getsockopt: %s", strerror(errno));
    }
    EXPECT_TRUE(close(file) == 0, "close");
    neighbor_free(&n);
    return finish();
}
