// soc: Ascend910B
/* Callbacks of aclInit and aclFinalize: order, arguments, failures, removal. */
#include "../expect.h"

static int order[8], count;
static char text[256];
static size_t length;
static aclError answer;

static void record(int who)
{
    if (count < 8) {
        order[count++] = who;
    }
}

static aclError first_init(const char *config, size_t len, void *data)
{
    EXPECT_TRUE(data == &count, "%p", data);
    snprintf(text, sizeof text, "%s", config);
    length = len;
    record(1);
    return 0;
}

static aclError second_init(const char *config, size_t len, void *data)
{
    (void)config, (void)len, (void)data;
    uint32_t devices = 0;
    EXPECT_OK(aclrtGetDeviceCount(&devices)); /* calls are possible */
    record(2);
    return answer;
}

static aclError first_finalize(void *data)
{
    EXPECT_TRUE(data == text, "%p", data);
    record(3);
    return 0;
}

static aclError second_finalize(void *data)
{
    (void)data;
    record(4);
    return answer;
}

static void check_arguments(void)
{
    EXPECT_CODE(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, NULL, NULL), 100000);
    EXPECT_CODE(aclFinalizeCallbackRegister(ACL_REG_TYPE_OTHER, NULL, NULL), 100000);
    EXPECT_FAILS(aclInitCallbackRegister((aclRegisterCallbackType)8, first_init, NULL));
    EXPECT_FAILS(aclFinalizeCallbackRegister((aclRegisterCallbackType)-1, first_finalize, NULL));
    EXPECT_FAILS(aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, first_init));
    EXPECT_FAILS(aclFinalizeCallbackUnRegister(ACL_REG_TYPE_OTHER, first_finalize));
    EXPECT_OK(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, first_init, &count));
    EXPECT_SOFTACL_CODE(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, first_init, &count), 100000);
    EXPECT_OK(aclInitCallbackRegister(ACL_REG_TYPE_ACL_DVPP, second_init, NULL));
    EXPECT_OK(aclFinalizeCallbackRegister(ACL_REG_TYPE_OTHER, first_finalize, text));
    EXPECT_OK(aclFinalizeCallbackRegister(ACL_REG_TYPE_OTHER, second_finalize, NULL));
}

int main(void)
{
    char path[] = "/tmp/conformance-init-XXXXXX";
    const char *config = "{\"err_msg_mode\": \"0\"}";
    int file = mkstemp(path);
    REQUIRE_TRUE(file >= 0 && write(file, config, strlen(config)) == (ssize_t)strlen(config) && close(file) == 0, "file");
    check_arguments();

    REQUIRE_OK(aclInit(path));
    EXPECT_TRUE(count == 2 && order[0] == 1 && order[1] == 2, "%d calls", count);
    EXPECT_TRUE(strcmp(text, config) == 0 && length == strlen(config), "%s, %zu", text, length);
    EXPECT_CODE(aclInit(NULL), 100002); /* counted, and no second initialization */
    EXPECT_TRUE(count == 2, "%d calls", count);
    uint64_t left = 9;
    EXPECT_OK(aclFinalizeReference(&left));
    EXPECT_TRUE(left == 1 && count == 2, "%d calls", count);
    EXPECT_OK(aclFinalize());
    EXPECT_TRUE(count == 4 && order[2] == 3 && order[3] == 4, "%d calls", count);

    if (on_softacl()) { /* what a failing callback changes is not documented */
        count = 0;
        answer = 100000;
        EXPECT_CODE(aclInit(NULL), 100000);
        EXPECT_TRUE(count == 2, "%d calls", count);
        answer = 0;
        EXPECT_OK(aclInit(NULL)); /* the failed call did not initialize */
        answer = 500000;
        EXPECT_CODE(aclFinalize(), 500000);
        answer = 0;
        EXPECT_CODE(aclFinalize(), 100037); /* the failed call did finalize */

        /* registered late, a callback is called immediately */
        EXPECT_OK(aclInitCallbackUnRegister(ACL_REG_TYPE_ACL_DVPP, second_init));
        EXPECT_OK(aclInit(NULL));
        count = 0;
        EXPECT_OK(aclInitCallbackRegister(ACL_REG_TYPE_ACL_DVPP, second_init, NULL));
        EXPECT_TRUE(count == 1 && order[0] == 2, "%d calls", count);
        EXPECT_OK(aclFinalize());
    }
    EXPECT_OK(aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, first_init));
    EXPECT_OK(aclInitCallbackUnRegister(ACL_REG_TYPE_ACL_DVPP, second_init));
    EXPECT_OK(aclFinalizeCallbackUnRegister(ACL_REG_TYPE_OTHER, first_finalize));
    EXPECT_OK(aclFinalizeCallbackUnRegister(ACL_REG_TYPE_OTHER, second_finalize));
    count = 0;
    EXPECT_OK(aclInit(NULL));
    EXPECT_OK(aclFinalize());
    EXPECT_TRUE(count == 0, "%d calls", count);
    EXPECT_TRUE(unlink(path) == 0, "unlink");
    return finish();
}
