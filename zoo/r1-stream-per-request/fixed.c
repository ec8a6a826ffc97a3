/*
 * Serves 600 requests at the same time on a 310B, which has 512 streams.
 *
 * buggy.c creates a stream per request. Request 513 gets 207008.
 * fixed.c shares 16 streams between all requests.
 */
#include "../zoo.h"

#define REQUESTS 600
#define STREAMS 16

int main(void)
{
    static aclrtStream streams[STREAMS];
    size_t made = 0, served = 0;
    begin();
    while (made < STREAMS && !logged("aclrtCreateStream", aclrtCreateStream(&streams[made]))) {
        made++;
    }
    for (size_t request = 0; request < REQUESTS; request++) {
        served += streams[request % made] != NULL; /* requests share streams */
    }
    for (size_t s = 0; s < made; s++) {
        OK(aclrtDestroyStream(streams[s]));
    }
    end();
    return verdict(REQUESTS - served, REQUESTS, "requests");
}
