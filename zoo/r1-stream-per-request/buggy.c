/* 600 requests at the same time. */
#include "../zoo.h"

#define REQUESTS 600
#define STREAMS REQUESTS

int main(void)
{
    static aclrtStream streams[STREAMS];
    size_t made = 0, served = 0;
    begin();
    while (made < STREAMS && !logged("aclrtCreateStream", aclrtCreateStream(&streams[made]))) {
        made++;
    }
    for (size_t request = 0; request < REQUESTS; request++) {
        served += request < made;
    }
    for (size_t s = 0; s < made; s++) {
        OK(aclrtDestroyStream(streams[s]));
    }
    end();
    return verdict(REQUESTS - served, REQUESTS, "requests");
}
