// soc: all
// schedules: all
// expects: C2
/* aclrtGetMemInfo reports less free memory after an allocation and the initial value again after its release. */
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
        attr = ACL_DDR_MEM; /* the smaller products have only DDR */
    }
    REQUIRE_OK(aclrtGetMemInfo(attr, &available, &total));
    EXPECT_TRUE(total > 0 && available > 0 && available <= total, "%zu of %zu", available, total);
    EXPECT_CODE(aclrtGetMemInfo(attr, NULL, &total), 100000);             /* 1.14 GetMemInfo: null */
    EXPECT_CODE(aclrtGetMemInfo(attr, &available, NULL), 100000);
    EXPECT_CODE(aclrtGetMemInfo((aclrtMemAttr)99, &available, &total), 107016); /* 1.14 GetMemInfo: attribute */
    in_new_thread(without_context, &attr);

    size_t before = 0, during = 0, after = 0, total_now = 0;
    REQUIRE_OK(aclrtGetMemInfo(attr, &before, &total_now));
    void *memory = device_memory(BLOCK);
    REQUIRE_OK(aclrtGetMemInfo(attr, &during, &total_now));
    EXPECT_TRUE(before >= during + BLOCK, "%zu, then %zu", before, during);
    EXPECT_TRUE(total_now == total, "the total changed");
    EXPECT_OK(aclrtFree(memory));
    REQUIRE_OK(aclrtGetMemInfo(attr, &after, &total_now));
    EXPECT_TRUE(after == before, "%zu before, %zu after", before, after);
    REQUIRE_OK(aclrtResetDevice(0));

    /* A reset releases memory that was not freed. */
    REQUIRE_OK(aclrtSetDevice(0));
    REQUIRE_OK(aclrtGetMemInfo(attr, &before, &total_now));
    device_memory(BLOCK);
    REQUIRE_OK(aclrtResetDevice(0));
    REQUIRE_OK(aclrtSetDevice(0));
    REQUIRE_OK(aclrtGetMemInfo(attr, &after, &total_now));
    EXPECT_TRUE(after == before, "%zu before, %zu after", before, after);
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
