// soc: Ascend910B
// softacl-only
/* Host functions that wait for the program in every way: what the program does before it lets them continue comes before
 * the copies behind them. No finding. */
#include "../expect.h"
#include <semaphore.h>
#include <stdatomic.h>

#define SIZE 4096

static atomic_int is_open;
static sem_t semaphore;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];

static void spin(void *argument)
{
    (void)argument;
    while (!atomic_load(&is_open)) {
        poll_pause();
    }
    atomic_store(&is_open, 0);
}

static void await_semaphore(void *argument)
{
    (void)argument;
    sem_wait(&semaphore);
}

static void await_lock(void *argument)
{
    (void)argument;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

static void await_pipe(void *argument)
{
    char byte;
    (void)argument;
    if (read(ends[0], &byte, 1) != 1) {
        abort();
    }
}

static void release_spin(void) { atomic_store(&is_open, 1); }
static void release_semaphore(void) { sem_post(&semaphore); }
static void release_lock(void) { pthread_mutex_unlock(&lock); }
static void release_pipe(void) { EXPECT_TRUE(write(ends[1], "x", 1) == 1, "write"); }

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *host = (uint8_t *)pinned_memory(SIZE), *device = (uint8_t *)device_memory(SIZE);
    void (*const functions[])(void *) = {spin, await_semaphore, await_lock, await_pipe};
    void (*const releases[])(void) = {release_spin, release_semaphore, release_lock, release_pipe};
    REQUIRE_TRUE(sem_init(&semaphore, 0, 0) == 0 && pipe(ends) == 0, "sem_init");
    memset(host, 0, SIZE);
    for (int i = 0; i < 8; i++) {
        pthread_mutex_lock(&lock);
        EXPECT_OK(aclrtLaunchHostFunc(stream, functions[i % 4], NULL));
        EXPECT_OK(aclrtMemcpyAsync(device, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        memset(host, i + 1, SIZE);
        releases[i % 4]();
        if (i % 4 != 2) {
            pthread_mutex_unlock(&lock);
        }
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_DEVICE_VALUE(device, SIZE, i + 1);
    }
    sem_destroy(&semaphore);
    EXPECT_TRUE(close(ends[0]) == 0 && close(ends[1]) == 0, "close");
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(host));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
