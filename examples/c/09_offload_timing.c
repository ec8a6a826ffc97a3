/*
 * Does the offload of a key-value cache hide behind decode?
 *
 * Every step decodes on one stream, while a second stream saves blocks of the step before to the host.
 * Run it on a virtual clock, with the published figures of a chip and the time of your decode kernel:
 *
 *     softacl run --timing --kernel decode=400us -- ./09_offload_timing
 *     softacl what-if --soc Ascend910B,Ascend910C --kernel decode=400us --svg offload.svg -- ./09_offload_timing
 *     softacl run --timing --kernel decode=400us -- ./09_offload_timing 64     (batches of 64 blocks)
 *
 * The kernel does nothing here. In your program it is the real one, with a CPU version if you need its results.
 */
#include "common.h"
#include "softacl/softacl.h"

#define STEPS 20
#define BLOCKS 64 /* saved per step */
#define BLOCK ((size_t)64 << 10)

static int decode(void *argument)
{
    (void)argument;
    return 0;
}

/* Saves the blocks of a step, in batches of `batch` blocks or one by one. */
static void save(char *host, char *device, size_t batch, aclrtStream stream)
{
    if (batch < 2) {
        for (size_t i = 0; i < BLOCKS; i++) {
            CHECK(aclrtMemcpyAsync(host + i * BLOCK, BLOCK, device + i * BLOCK, BLOCK, ACL_MEMCPY_DEVICE_TO_HOST,
                                   stream));
        }
        return;
    }
    void *targets[BLOCKS], *sources[BLOCKS];
    size_t sizes[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        targets[i] = host + i * BLOCK;
        sources[i] = device + i * BLOCK;
        sizes[i] = BLOCK;
    }
    for (size_t i = 0; i < BLOCKS; i += batch) {
        aclrtMemcpyBatchAttr attribute = {{0, ACL_MEM_LOCATION_TYPE_HOST}, {0, ACL_MEM_LOCATION_TYPE_DEVICE}, {0}};
        size_t count = i + batch < BLOCKS ? batch : BLOCKS - i, first = 0, failed = 0;
        CHECK(aclrtMemcpyBatchAsync(targets + i, sizes + i, sources + i, sizes + i, count, &attribute, &first, 1,
                                    &failed, stream));
    }
}

int main(int argc, char **argv)
{
    size_t batch = argc > 1 ? (size_t)atoi(argv[1]) : 1;
    char *host, *device;
    aclrtStream compute, offload;
    aclrtEvent decoded, start, end;
    float ms = 0;

    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtCreateStream(&compute));
    CHECK(aclrtCreateStream(&offload));
    CHECK(aclrtCreateEvent(&decoded));
    CHECK(aclrtCreateEvent(&start));
    CHECK(aclrtCreateEvent(&end));
    CHECK(aclrtMalloc((void **)&device, BLOCKS * BLOCK, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMallocHost((void **)&host, BLOCKS * BLOCK));
    CHECK(aclrtMemset(device, BLOCKS * BLOCK, 7, BLOCKS * BLOCK));

    CHECK(aclrtRecordEvent(start, compute));
    for (int step = 0; step < STEPS; step++) {
        CHECK(softaclLaunchKernel(compute, decode, NULL, NULL, NULL, 0, "decode"));
        CHECK(aclrtRecordEvent(decoded, compute));
        CHECK(softaclLaunchKernel(compute, decode, NULL, NULL, NULL, 0, "decode")); /* the next tokens */
        CHECK(aclrtStreamWaitEvent(offload, decoded));
        save(host, device, batch, offload);
        CHECK(aclrtSynchronizeStream(offload));
    }
    CHECK(aclrtRecordEvent(end, compute));
    CHECK(aclrtSynchronizeStream(compute));
    CHECK(aclrtEventElapsedTime(&ms, start, end));
    for (size_t i = 0; i < BLOCKS * BLOCK; i++) {
        VERIFY(host[i] == 7);
    }
    printf("09_offload_timing: %d steps with %d blocks each: %.3f ms\n", STEPS, BLOCKS, (double)ms);

    CHECK(aclrtFreeHost(host));
    CHECK(aclrtFree(device));
    CHECK(aclrtDestroyEvent(decoded));
    CHECK(aclrtDestroyEvent(start));
    CHECK(aclrtDestroyEvent(end));
    CHECK(aclrtDestroyStream(offload));
    CHECK(aclrtDestroyStream(compute));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}
