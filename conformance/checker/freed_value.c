// soc: Ascend910B
// softacl-only
// must-find: L3
/* Device memory is freed while a task that writes a value in it is queued. After a wait it may be freed. */
#include "../expect.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    void *waited = device_memory(64), *freed = device_memory(64);
    EXPECT_OK(aclrtValueWrite(waited, 1, 0, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtFree(waited));
    EXPECT_OK(aclrtValueWrite(freed, 1, 0, stream));
    EXPECT_OK(aclrtFree(freed)); /* L3 */
    (void)aclrtSynchronizeStream(stream);
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
