// soc: all
/* Descriptions of resource groups, which only the 310P has. softacl has no groups. */
#include "../expect.h"

int main(void)
{
    int32_t value = 0;
    size_t size = 0;
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtGroupInfo *info = aclrtCreateGroupInfo();
    if (family() != FAMILY_310P) {
        EXPECT_TRUE(info == NULL, "%p on a product without groups", (void *)info);
        EXPECT_CODE(aclrtGetAllGroupInfo((aclrtGroupInfo *)&value), 207000);
        EXPECT_CODE(aclrtDestroyGroupInfo((aclrtGroupInfo *)&value), 207000);
        EXPECT_OK(aclrtResetDevice(0));
        return finish();
    }
    REQUIRE_TRUE(info != NULL, "no object");
    EXPECT_CODE(aclrtGetAllGroupInfo(NULL), 100000);
    EXPECT_OK(aclrtGetAllGroupInfo(info));
    EXPECT_CODE(aclrtGetGroupInfoDetail(NULL, 0, ACL_GROUP_AICORE_INT, &value, sizeof value, &size), 100000);
    EXPECT_CODE(aclrtGetGroupInfoDetail(info, 0, ACL_GROUP_AICORE_INT, NULL, sizeof value, &size), 100000);
    EXPECT_FAILS(aclrtGetGroupInfoDetail(info, 0, (aclrtGroupAttr)6, &value, sizeof value, &size));
    EXPECT_SOFTACL_CODE(aclrtGetGroupInfoDetail(info, 0, ACL_GROUP_AICORE_INT, &value, sizeof value, &size), 107014);
    EXPECT_OK(aclrtDestroyGroupInfo(info));
    EXPECT_SOFTACL_CODE(aclrtDestroyGroupInfo(info), 107000);
    EXPECT_CODE(aclrtDestroyGroupInfo(NULL), 100000);
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
