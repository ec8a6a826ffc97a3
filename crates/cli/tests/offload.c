/* Decodes on one stream, with kernels, and saves pages on another one by one. */
#include "runtime.h"

enum { STEPS = 20, PAGES = 32 };

static int decode(void *argument)
{
    (void)argument;
    return 0;
}

int main(void)
{
    void *compute = NULL;
    begin();
    CALL(aclrtCreateStream, (void **), &compute);
    for (int step = 0; step < STEPS; step++) {
        CALL(softaclLaunchKernel,
             (void *, int (*)(void *), void *, void (*)(void *), const void *, size_t, const char *), compute, decode,
             NULL, NULL, NULL, 0, "decode");
        for (int page = 0; page < PAGES; page++) {
            copy(host, device, PAGE, DEVICE_TO_HOST);
        }
        synchronize();
        CALL(aclrtSynchronizeStream, (void *), compute);
    }
    CALL(aclrtDestroyStream, (void *), compute);
    return finish();
}
