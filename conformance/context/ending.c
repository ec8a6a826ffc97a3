// soc: all
// misuses: C2
/* A context that is being destroyed: 507007 (4.3). */
#include "../expect.h"

static struct gate gate = GATE_INITIALIZER;
static aclrtContext context;
static aclError destroyed;

static void *destroy(void *unused)
{
    (void)unused;
    destroyed = aclrtDestroyContext(context);
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
    while ((got = aclrtCreateStream(&another)) == 0) { /* until it has begun */
        got = aclrtDestroyStream(another);
        if (got != 0) {
            break; /* it has begun between the two calls */
        }
    }
    EXPECT_TRUE(got != 0, "a context that ends makes no streams");
    EXPECT_CODE(aclrtDestroyContext(context), 507007); /* 4.3: one being destroyed */
    EXPECT_CODE(aclrtCreateStream(&another), 507007);
    gate_open(&gate);
    REQUIRE_TRUE(pthread_join(thread, NULL) == 0, "pthread_join");
    EXPECT_CODE(destroyed, 0);
    EXPECT_CODE(aclrtDestroyContext(context), 107002); /* 4.3: unknown by now */
    EXPECT_CODE(aclrtCreateStream(&another), 107002);
    EXPECT_TRUE(gate_passed(&gate), "its work was waited for");
    return conclude();
}
