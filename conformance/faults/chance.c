// softacl-only
// soc: Ascend910B
// env: SOFTACL_FAULTS=aclrtCreateEvent@30%:9=207007; aclrtCreateStream@30%:9=207008; aclrtMalloc@30%:10=207001
// schedules: all
/* A random rule decides from its seed and the occurrence number only: equal seeds give equal failures. */
#include "../expect.h"

#define CALLS 200

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    int failed = 0, different = 0;
    for (int i = 0; i < CALLS; i++) {
        aclrtEvent event = NULL;
        aclrtStream stream = NULL;
        void *memory = NULL;
        aclError first = aclrtCreateEvent(&event), second = aclrtCreateStream(&stream);
        aclError third = aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST);
        EXPECT_TRUE((first == 0) == (second == 0), "call %d: %d and %d", i, first, second);
        EXPECT_TRUE(first == 0 || first == 207007, "%d", first);
        failed += first != 0;
        different += (first == 0) != (third == 0);
        if (event != NULL) {
            EXPECT_OK(aclrtDestroyEvent(event));
        }
        if (stream != NULL) {
            EXPECT_OK(aclrtDestroyStream(stream));
        }
        if (memory != NULL) {
            EXPECT_OK(aclrtFree(memory));
        }
    }
    EXPECT_TRUE(failed > CALLS / 6 && failed < CALLS / 2, "%d of %d", failed, CALLS);
    EXPECT_TRUE(different > 0, "another seed gave the same failures");
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
