// soc: all
// schedules: all
/* Corrections, documented: an option that was never set is 107021 in a context, and 0 in the process. */
#include "../expect.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    int64_t value = 7;
    EXPECT_OK(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    EXPECT_TRUE(value == 0, "value %ld", (long)value);
    value = 7;
    EXPECT_CODE(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), 107021);
    EXPECT_TRUE(value == 7, "value %ld", (long)value);
    EXPECT_CODE(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, NULL), 100000);

    EXPECT_OK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
    EXPECT_OK(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    EXPECT_TRUE(value == 1, "value %ld", (long)value);
    EXPECT_CODE(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), 107021); /* still not set in the context */
    EXPECT_OK(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 0));
    EXPECT_OK(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    EXPECT_TRUE(value == 0, "value %ld", (long)value);
    EXPECT_OK(aclrtGetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, &value));
    EXPECT_TRUE(value == 0, "value %ld", (long)value);
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
