// soc: Ascend910B
// softacl-only
/* One host function passes memory to a thread and a later one waits for that thread. Tasks queued after the later
 * function are ordered after the thread's accesses, also if several rounds are queued at once: no finding. */
#include "../expect.h"
#include <semaphore.h>

#define SIZE 65536
#define STEPS 4

static sem_t start, done;
static uint8_t *from, *to;

static void *work(void *argument)
{
    (void)argument;
    for (int step = 0; step < STEPS; step++) {
        sem_wait(&start);
        for (size_t i = 0; i < SIZE; i++) {
            to[i] = (uint8_t)(from[i] + 1);
        }
        sem_post(&done);
    }
    return NULL;
}

static void start_worker(void *argument)
{
    (void)argument;
    sem_post(&start);
}

static void await_worker(void *argument)
{
    (void)argument;
    sem_wait(&done);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    from = (uint8_t *)pinned_memory(SIZE);
    to = (uint8_t *)pinned_memory(SIZE);
    uint8_t *source = (uint8_t *)device_memory(SIZE), *results = (uint8_t *)device_memory(STEPS * SIZE);
    pthread_t worker;
    REQUIRE_TRUE(sem_init(&start, 0, 0) == 0 && sem_init(&done, 0, 0) == 0, "sem_init");
    REQUIRE_TRUE(pthread_create(&worker, NULL, work, NULL) == 0, "pthread_create");
    for (int step = 0; step < STEPS; step++) {
        EXPECT_OK(aclrtMemsetAsync(source, SIZE, step, SIZE, stream));
        EXPECT_OK(aclrtMemcpyAsync(from, SIZE, source, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
        EXPECT_OK(aclrtLaunchHostFunc(stream, start_worker, NULL));
        EXPECT_OK(aclrtLaunchHostFunc(stream, await_worker, NULL));
        EXPECT_OK(aclrtMemcpyAsync(results + step * SIZE, SIZE, to, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
    for (int step = 0; step < STEPS; step++) {
        EXPECT_DEVICE_VALUE(results + step * SIZE, SIZE, step + 1);
    }
    pthread_join(worker, NULL);
    EXPECT_OK(aclrtFreeHost(from));
    EXPECT_OK(aclrtFreeHost(to));
    EXPECT_OK(aclrtFree(source));
    EXPECT_OK(aclrtFree(results));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
