// soc: all
// expects: C2 M1
/* Overflow flags of the cores: a query is a task of the stream that writes the status. Nothing has overflowed. */
#include "../expect.h"

#define STATUS 64

static struct gate gate = GATE_INITIALIZER;

static void check_query(aclError (*query)(void *, aclrtStream), aclrtStream stream, const char *name)
{
    uint8_t *status = (uint8_t *)device_memory(2 * STATUS), found[2 * STATUS];
    REQUIRE_OK(aclrtMemset(status, 2 * STATUS, 0xab, 2 * STATUS));
    gate_close(&gate, stream);
    EXPECT_TRUE(query(status, stream) == 0, "%s", name);
    REQUIRE_OK(aclrtMemcpy(found, STATUS, status, STATUS, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_TRUE(verify_value(found, STATUS, 0xab) == STATUS, "%s did not wait for its stream", name);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    REQUIRE_OK(aclrtMemcpy(found, 2 * STATUS, status, 2 * STATUS, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_TRUE(verify_value(found, STATUS, 0) == STATUS, "%s: an overflow was reported", name);
    EXPECT_TRUE(verify_value(found + STATUS, STATUS, 0xab) == STATUS, "%s wrote more than %d bytes", name, STATUS);
    EXPECT_OK(aclrtFree(status));
}

static aclError plain(void *status, aclrtStream stream)
{
    return aclrtGetOverflowStatus(status, STATUS, stream);
}

static aclError floating(void *status, aclrtStream stream)
{
    return aclrtGetFloatOverflowStatus(status, STATUS, stream);
}

static aclError with_mode(void *status, aclrtStream stream)
{
    return aclrtNpuGetFloatOverFlowStatus(status, STATUS, 0, stream);
}

static void check_arguments(aclrtStream stream)
{
    void *status = device_memory(STATUS), *host = pinned_memory(STATUS);
    EXPECT_CODE(aclrtGetOverflowStatus(NULL, STATUS, stream), 100000);
    EXPECT_FAILS(aclrtGetOverflowStatus(status, STATUS - 1, stream));
    EXPECT_FAILS(aclrtGetOverflowStatus(status, STATUS + 1, stream)); /* more than the allocation */
    EXPECT_FAILS(aclrtGetOverflowStatus(host, STATUS, stream));
    EXPECT_CODE(aclrtGetOverflowStatus(status, STATUS, stale_stream()), 107017);
    EXPECT_CODE(aclrtResetOverflowStatus(stale_stream()), 107017);
    EXPECT_OK(aclrtGetOverflowStatus(status, STATUS, NULL)); /* the default stream */
    EXPECT_OK(aclrtResetOverflowStatus(NULL));
    EXPECT_OK(aclrtResetOverflowStatus(stream));
    EXPECT_OK(aclrtResetFloatOverflowStatus(stream));
    EXPECT_OK(aclrtNpuClearFloatOverFlowStatus(1, stream));
    EXPECT_OK(aclrtSynchronizeDevice());
    EXPECT_OK(aclrtFree(status));
    EXPECT_OK(aclrtFreeHost(host));
}

static void check_address(void)
{
    void *address = NULL, *again = NULL, *other = NULL;
    uint8_t flags[STATUS];
    aclrtContext context = NULL;
    EXPECT_CODE(aclrtCtxGetFloatOverflowAddr(NULL), 100000);
    REQUIRE_OK(aclrtCtxGetFloatOverflowAddr(&address));
    EXPECT_OK(aclrtCtxGetFloatOverflowAddr(&again));
    EXPECT_TRUE(address != NULL && address == again, "%p %p", address, again);
    memset(flags, 0xab, sizeof flags);
    EXPECT_OK(aclrtMemcpy(flags, STATUS, address, STATUS, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_TRUE(verify_value(flags, STATUS, 0) == STATUS, "an overflow is flagged");
    REQUIRE_OK(aclrtCreateContext(&context, 0));
    EXPECT_OK(aclrtCtxGetFloatOverflowAddr(&other));
    EXPECT_TRUE(other != address, "two contexts have one address");
    EXPECT_OK(aclrtDestroyContext(context));
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtResetDevice(0)); /* only the second reference */
}

static void check_timeouts(void)
{
    uint32_t limit = 1;
    uint64_t actual = 0, interval = 0;
    EXPECT_CODE(aclrtGetOpExecuteTimeout(NULL), 100000);
    EXPECT_CODE(aclrtGetOpTimeOutInterval(NULL), 100000);
    EXPECT_OK(aclrtGetOpExecuteTimeout(&limit));
    EXPECT_TRUE(!on_softacl() || limit == 0, "%u without a limit", limit);
    EXPECT_OK(aclrtGetOpTimeOutInterval(&interval));
    EXPECT_TRUE(interval > 0, "%llu", (unsigned long long)interval);
    EXPECT_OK(aclrtSetOpExecuteTimeOut(3));
    EXPECT_OK(aclrtGetOpExecuteTimeout(&limit));
    EXPECT_TRUE(limit >= 3000 && (!on_softacl() || limit == 3000), "%u", limit);
    EXPECT_OK(aclrtSetOpExecuteTimeOutV2(5000000, &actual));
    EXPECT_OK(aclrtGetOpExecuteTimeout(&limit));
    EXPECT_TRUE(actual % interval == 0 && limit == (actual + 999) / 1000, "%llu us, %u ms",
                (unsigned long long)actual, limit);
}

int main(void)
{
    uint8_t byte;
    EXPECT_CODE(aclrtGetOverflowStatus(&byte, STATUS, NULL), 107002);
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    check_query(plain, stream, "aclrtGetOverflowStatus");
    check_query(floating, stream, "aclrtGetFloatOverflowStatus");
    check_query(with_mode, stream, "aclrtNpuGetFloatOverFlowStatus");
    check_arguments(stream);
    check_address();
    check_timeouts();
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
