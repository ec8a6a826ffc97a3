// soc: Ascend910B
// softacl-only
// must-find: H3
/* A host function permits accesses only until it returns. */
#include "../expect.h"
#include <stdatomic.h>

#define SIZE 4096

static atomic_int has_run;

static void set_has_run(void *argument)
{
    (void)argument;
    atomic_store(&has_run, 1);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    volatile uint8_t *host = (volatile uint8_t *)pinned_memory(SIZE);
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    aclrtEvent event;
    REQUIRE_OK(aclrtCreateEvent(&event));
    EXPECT_OK(aclrtMemset(device, SIZE, 1, SIZE));
    EXPECT_OK(aclrtLaunchHostFunc(stream, set_has_run, NULL));
    EXPECT_OK(aclrtRecordEvent(event, stream));
    EXPECT_OK(aclrtMemcpyAsync((void *)host, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtSynchronizeEvent(event));
    EXPECT_TRUE(atomic_load(&has_run) == 1, "the function has not run");
    (void)host[5]; /* H3 */
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost((void *)host));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
