// soc: Ascend910B
// softacl-only
// sanitize: none (the handler interrupts the sanitizer, too)
/* A signal handler that writes next to copies in flight, while its thread makes calls, allocates, or does neither. */
#include "../expect.h"
#include <signal.h>

#define SIZE 4096
#define COPIED 1024
#define ROUNDS 300

static volatile uint8_t *beside;
static volatile sig_atomic_t handled;
static volatile int is_done;

static void on_signal(int signal)
{
    (void)signal;
    beside[handled % 256]++;
    handled++;
}

/* Sends signals until the main thread is done, one at a time. */
static void *send_signals(void *main_thread)
{
    while (!__atomic_load_n(&is_done, __ATOMIC_ACQUIRE)) {
        int before = handled;
        pthread_kill(*(pthread_t *)main_thread, SIGUSR2);
        while (handled == before && !__atomic_load_n(&is_done, __ATOMIC_ACQUIRE)) {
            sched_yield();
        }
    }
    return NULL;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *host = (uint8_t *)pinned_memory(SIZE), *device = (uint8_t *)device_memory(SIZE);
    memset(host, 1, SIZE);
    beside = host + 2 * COPIED;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    REQUIRE_TRUE(sigaction(SIGUSR2, &action, NULL) == 0, "sigaction");
    pthread_t self = pthread_self(), sender;
    REQUIRE_TRUE(pthread_create(&sender, NULL, send_signals, &self) == 0, "thread");
    for (int round = 0; round < iterations(ROUNDS); round++) {
        EXPECT_OK(aclrtMemcpyAsync(device, COPIED, host, COPIED, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        EXPECT_OK(aclrtMemcpyAsync(host + 3 * COPIED, COPIED, device, COPIED, ACL_MEMCPY_DEVICE_TO_HOST, stream));
        for (int i = 0; i < 20; i++) {
            free(malloc((size_t)(100 * i + round)));
        }
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_TRUE(host[3 * COPIED] == 1 && host[SIZE - 1] == 1, "wrong bytes in round %d", round);
    }
    __atomic_store_n(&is_done, 1, __ATOMIC_RELEASE);
    pthread_join(sender, NULL);
    EXPECT_OK(aclrtFreeHost(host));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
