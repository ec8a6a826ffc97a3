// soc: Ascend910B
// softacl-only
// sanitize: none (the race is the subject)
// must-find: H1
/* A callback that does not block writes the source of the copy behind it: the stream does not wait for it. */
#include "../expect.h"
#include <semaphore.h>

#define SIZE 1024

static sem_t submitted, processed;
static aclrtContext context;

static void fill(void *source)
{
    memset(source, 0x5a, SIZE); /* H1 */
}

static void *process_report(void *unused)
{
    EXPECT_OK(aclrtSetCurrentContext(context));
    sem_wait(&submitted);
    EXPECT_OK(aclrtProcessReport(2000));
    sem_post(&processed);
    return unused;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    REQUIRE_OK(aclrtGetCurrentContext(&context));
    sem_init(&submitted, 0, 0);
    sem_init(&processed, 0, 0);
    uint8_t *host = (uint8_t *)pinned_memory(SIZE), *device = (uint8_t *)device_memory(SIZE);
    memset(host, 1, SIZE);
    aclrtStream stream = new_stream();
    aclrtEvent event;
    REQUIRE_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    pthread_t thread;
    REQUIRE_TRUE(pthread_create(&thread, NULL, process_report, NULL) == 0, "thread");
    EXPECT_OK(aclrtSubscribeReport((uint64_t)thread, stream));
    EXPECT_OK(aclrtLaunchCallback(fill, host, ACL_CALLBACK_NO_BLOCK, stream));
    EXPECT_OK(aclrtRecordEvent(event, stream));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeEvent(event));
    sem_post(&submitted);
    sem_wait(&processed);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtUnSubscribeReport((uint64_t)thread, stream));
    pthread_join(thread, NULL);
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtFreeHost(host));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
