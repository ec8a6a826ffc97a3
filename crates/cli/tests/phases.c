/* Two phases, host functions, and copies that pageable memory makes synchronous. */
#include "runtime.h"

enum { ROUNDS = 10 };

static int nothing(void *argument)
{
    (void)argument;
    return 0;
}

static void called(void *argument)
{
    *(int *)argument += 1;
}

int main(void)
{
    int calls = 0;
    char *pageable = malloc(PAGE);
    begin();
    memset(pageable, 3, PAGE);
    CALL(aclprofMarkEx, (const char *, size_t, void *), "fill", 4, stream);
    for (int round = 0; round < ROUNDS; round++) {
        copy(device, host, PAGE, HOST_TO_DEVICE);
    }
    synchronize();
    CALL(aclprofMarkEx, (const char *, size_t, void *), "drain", 5, stream);
    for (int round = 0; round < ROUNDS; round++) {
        CALL(softaclLaunchKernel,
             (void *, int (*)(void *), void *, void (*)(void *), const void *, size_t, const char *), stream, nothing,
             NULL, NULL, NULL, 0, "step");
        copy(pageable, device, PAGE, DEVICE_TO_HOST);
    }
    CALL(aclrtLaunchHostFunc, (void *, void (*)(void *), void *), stream, called, &calls);
    synchronize();
    free(pageable);
    return finish() != 0 || calls != 1;
}
