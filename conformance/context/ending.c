// soc: all
// misuses: C2
/* A context that is being destroyed: 507007 (4.3). */
#include "../expect.h"

static struct gate gate = GATE_INITIALIZER;
static aclrtContext context;
/* What the destruction returned, when it has. */
#define PENDING (-1)
static aclError destroyed = PENDING;

static void *destroy(void *unused)
{
    (void)unused;
    __atomic_store_n(&destroyed, aclrtDestroyContext(context), __ATOMIC_SEQ_CST);
    return NULL;
}

int main(void)
{
    REQUIRE_OK(aclrtCreateContext(&context, 0));
    aclrtStream stream = new_stream(), another = NULL;
    gate_close(&gate, stream); /* destruction waits for the stream, so it lasts until the gate is opened */
    gate_await(&gate);
    pthread_t thread;
    REQUIRE_TRUE(pthread_create(&thread, NULL, destroy, NULL) == 0, "pthread_create");
    aclError got = 0;
    while (got == 0 && __atomic_load_n(&destroyed, __ATOMIC_SEQ_CST) == PENDING) { /* until it has begun */
        got = aclrtCreateStream(&another);
        if (got == 0) {
            got = aclrtDestroyStream(another); /* it may have begun between the two calls */
        }
    }
    REQUIRE_TRUE(got == 507007 || got == 107002, "a context that ends makes no streams, but says %d", got);
    EXPECT_CODE(aclrtDestroyContext(context), 507007); /* 4.3: one being destroyed */
    EXPECT_CODE(aclrtCreateStream(&another), 507007);
    gate_open(&gate);
    REQUIRE_TRUE(pthread_join(thread, NULL) == 0, "pthread_join");
    EXPECT_CODE(destroyed, 0);
    EXPECT_CODE(aclrtDestroyContext(context), 107002); /* 4.3: unknown by now */
    EXPECT_CODE(aclrtCreateStream(&another), 107002);
    EXPECT_TRUE(gate_passed(&gate), "its work was waited for");
    return finish();
}
