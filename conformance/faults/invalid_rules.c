// softacl-only
// soc: Ascend910B
// env: SOFTACL_FAULTS=aclrtMalloc@3=207001; aclrtMallok=207001
/* Invalid fault rules fail the first call with the column of the error and a suggestion, and every later call too. */
#include "../expect.h"

int main(void)
{
    void *memory = NULL;
    EXPECT_CODE(aclrtSetDevice(0), 507033);
    const char *message = aclGetRecentErrMsg();
    REQUIRE_TRUE(message != NULL, "no message");
    EXPECT_TRUE(strstr(message, "SOFTACL_FAULTS: column 23: function aclrtMallok does not exist; "
                                "did you mean aclrtMalloc?") != NULL, "%s", message);
    EXPECT_CODE(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST), 507033);
    return finish();
}
