// soc: all
// schedules: all
// misuses: C2
/* aclrtGetMemInfo follows allocation and release. */
#include "../expect.h"

#define BLOCK ((size_t)32 << 20)

static void *without_context(void *attr)
{
    size_t available = 0, total = 0;
    EXPECT_CODE(aclrtGetMemInfo(*(aclrtMemAttr *)attr, &available, &total), 107002);
    return NULL;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    size_t available = 0, total = 0;
    aclrtMemAttr attr = ACL_HBM_MEM;
    if (aclrtGetMemInfo(attr, &available, &total) != 0) {
        attr = ACL_DDR_MEM; /* the smaller products have only this one */
    }
    REQUIRE_OK(aclrtGetMemInfo(attr, &available, &total));
    EXPECT_TRUE(total > 0 && available > 0 && available <= total, "%zu of %zu", available, total);
    EXPECT_CODE(aclrtGetMemInfo(attr, NULL, &total), 100000);             /* 1.14 GetMemInfo: null */
    EXPECT_CODE(aclrtGetMemInfo(attr, &available, NULL), 100000);
    EXPECT_CODE(aclrtGetMemInfo((aclrtMemAttr)99, &available, &total), 107016); /* 1.14 GetMemInfo: attribute */
    in_new_thread(without_context, &attr);

    size_t before = 0, during = 0, after = 0, whole = 0;
    REQUIRE_OK(aclrtGetMemInfo(attr, &before, &whole));
    void *memory = device_memory(BLOCK);
    REQUIRE_OK(aclrtGetMemInfo(attr, &during, &whole));
    EXPECT_TRUE(before >= during + BLOCK, "%zu, then %zu", before, during);
    EXPECT_TRUE(whole == total, "the total stays");
    EXPECT_OK(aclrtFree(memory));
    REQUIRE_OK(aclrtGetMemInfo(attr, &after, &whole));
    EXPECT_TRUE(after == before, "%zu before, %zu after", before, after);
    REQUIRE_OK(aclrtResetDevice(0));

    /* A reset gives back what was not freed. */
    REQUIRE_OK(aclrtSetDevice(0));
    REQUIRE_OK(aclrtGetMemInfo(attr, &before, &whole));
    device_memory(BLOCK);
    REQUIRE_OK(aclrtResetDevice(0));
    REQUIRE_OK(aclrtSetDevice(0));
    REQUIRE_OK(aclrtGetMemInfo(attr, &after, &whole));
    EXPECT_TRUE(after == before, "%zu before, %zu after", before, after);
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
