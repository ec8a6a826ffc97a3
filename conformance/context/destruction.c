// soc: all
// expects: C2
/* Calls that use a context while it is being destroyed return 507007 (4.3). */
#include "../expect.h"

static struct gate gate = GATE_INITIALIZER;
static aclrtContext context;
/* Result of the destruction; PENDING until it returns. */
#define PENDING (-1)
static aclError destroy_result = PENDING;

static void *destroy(void *unused)
{
    (void)unused;
    __atomic_store_n(&destroy_result, aclrtDestroyContext(context), __ATOMIC_SEQ_CST);
    return NULL;
}

int main(void)
{
    REQUIRE_OK(aclrtCreateContext(&context, 0));
    aclrtStream stream = new_stream(), another = NULL;
    gate_close(&gate, stream); /* the destruction waits for the stream, that is, until the gate is opened */
    gate_await(&gate);
    pthread_t thread;
    REQUIRE_TRUE(pthread_create(&thread, NULL, destroy, NULL) == 0, "pthread_create");
    aclError got = 0;
    /* until the destruction has begun */
    while (got == 0 && __atomic_load_n(&destroy_result, __ATOMIC_SEQ_CST) == PENDING) {
        got = aclrtCreateStream(&another);
        if (got == 0) {
            got = aclrtDestroyStream(another); /* the destruction may begin between the two calls */
        }
    }
    REQUIRE_TRUE(got == 507007 || got == 107002, "a call on a context under destruction returned %d", got);
    EXPECT_CODE(aclrtDestroyContext(context), 507007); /* 4.3: already being destroyed */
    EXPECT_CODE(aclrtCreateStream(&another), 507007);
    gate_open(&gate);
    REQUIRE_TRUE(pthread_join(thread, NULL) == 0, "pthread_join");
    EXPECT_CODE(destroy_result, 0);
    EXPECT_CODE(aclrtDestroyContext(context), 107002); /* 4.3: destroyed */
    EXPECT_CODE(aclrtCreateStream(&another), 107002);
    EXPECT_TRUE(gate_passed(&gate), "the destruction did not wait for the tasks");
    return finish();
}
