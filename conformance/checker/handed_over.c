// soc: Ascend910B
// softacl-only
/* A host function hands memory to a thread, and a later one waits for that thread. What is queued behind the later one comes after
 * whatever the thread does; several steps are queued at once. */
#include "../expect.h"
#include <semaphore.h>

#define SIZE 65536
#define STEPS 4

static sem_t begun, ended;
static uint8_t *from, *to;

static void *work(void *argument)
{
    (void)argument;
    for (int step = 0; step < STEPS; step++) {
        sem_wait(&begun);
        for (size_t i = 0; i < SIZE; i++) {
            to[i] = (uint8_t)(from[i] + 1);
        }
        sem_post(&ended);
    }
    return NULL;
}

static void hand_over(void *argument)
{
    (void)argument;
    sem_post(&begun);
}

static void take_back(void *argument)
{
    (void)argument;
    sem_wait(&ended);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    from = (uint8_t *)pinned_memory(SIZE);
    to = (uint8_t *)pinned_memory(SIZE);
    uint8_t *source = (uint8_t *)device_memory(SIZE), *results = (uint8_t *)device_memory(STEPS * SIZE);
    pthread_t worker;
    REQUIRE_TRUE(sem_init(&begun, 0, 0) == 0 && sem_init(&ended, 0, 0) == 0, "no semaphores");
    REQUIRE_TRUE(pthread_create(&worker, NULL, work, NULL) == 0, "no thread");
    for (int step = 0; step < STEPS; step++) {
        EXPECT_OK(aclrtMemsetAsync(source, SIZE, step, SIZE, stream));
        EXPECT_OK(aclrtMemcpyAsync(from, SIZE, source, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
        EXPECT_OK(aclrtLaunchHostFunc(stream, hand_over, NULL));
        EXPECT_OK(aclrtLaunchHostFunc(stream, take_back, NULL));
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
