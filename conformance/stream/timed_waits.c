// soc: Ascend910B
/* One thread makes small copies while another waits for the stream with a timeout. No wait lasts until its timeout,
 * because the stream becomes idle repeatedly. */
#include "../expect.h"
#include <limits.h>
#include <time.h>

#define SIZE 16384
#define LARGE (8 << 20) /* not executed inline */
#define TIMEOUT_MS 5000
#define SECONDS 3

static aclrtStream stream;
static uint8_t *host, *device;
static int is_finished;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void *make_copies(void *unused)
{
    EXPECT_OK(aclrtSetDevice(0));
    unsigned long max_copies = (unsigned long)iterations(INT_MAX);
    for (unsigned long i = 1; i <= max_copies && !__atomic_load_n(&is_finished, __ATOMIC_ACQUIRE); i++) {
        if (aclrtMemcpyAsync(device, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream) != 0
            || (i % 3 == 0 && aclrtSynchronizeStream(stream) != 0)) {
            EXPECT_TRUE(0, "copy %lu failed", i);
            break;
        }
    }
    return unused;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    host = (uint8_t *)pinned_memory(LARGE);
    device = (uint8_t *)device_memory(LARGE);
    EXPECT_OK(aclrtMemcpyAsync(device, LARGE, host, LARGE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    pthread_t thread;
    REQUIRE_TRUE(pthread_create(&thread, NULL, make_copies, NULL) == 0, "pthread_create");
    double longest = 0;
    aclError code = 0;
    int remaining = iterations(INT_MAX);
    for (double end = now() + SECONDS; now() < end && code == 0 && remaining > 0; remaining--) {
        double start = now();
        code = aclrtSynchronizeStreamWithTimeout(stream, TIMEOUT_MS);
        longest = now() - start > longest ? now() - start : longest;
    }
    EXPECT_TRUE(code == 0 && longest < TIMEOUT_MS * 0.9e-3, "code %d, the longest wait took %.3f s", code, longest);
    __atomic_store_n(&is_finished, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtFreeHost(host));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
