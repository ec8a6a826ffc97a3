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
    EXPECT_CODE(aclrtGetMemInfo((aclrtMemAttr)18, &available, &total), 107016);
    EXPECT_CODE(aclrtGetMemInfo((aclrtMemAttr)-1, &available, &total), 107016);
    in_new_thread(without_context, &attr);

    /* An attribute that the chip lacks has no memory, and that is not an error (corrections, rule 6). Clients add DDR
     * and HBM. HBM is answered by every chip. */
    int has_ddr = family() == FAMILY_310B || family() == FAMILY_310P;
    const aclrtMemAttr ddr[] = {ACL_DDR_MEM, ACL_DDR_MEM_HUGE, ACL_DDR_MEM_NORMAL, ACL_DDR_MEM_P2P_HUGE,
                                ACL_DDR_MEM_P2P_NORMAL};
    for (size_t i = 0; i < sizeof ddr / sizeof ddr[0]; i++) {
        size_t ddr_free = 99, ddr_total = 99;
        EXPECT_OK(aclrtGetMemInfo(ddr[i], &ddr_free, &ddr_total));
        EXPECT_TRUE(has_ddr ? ddr_total > 0 && ddr_free > 0 : ddr_total == 0 && ddr_free == 0,
                    "attribute %d: %zu of %zu", (int)ddr[i], ddr_free, ddr_total);
    }
    const aclrtMemAttr everywhere[] = {ACL_HBM_MEM, ACL_HBM_MEM_HUGE, ACL_HBM_MEM_NORMAL, ACL_HBM_MEM_P2P_HUGE,
                                       ACL_HBM_MEM_P2P_NORMAL, ACL_MEM_NORMAL, ACL_MEM_HUGE, ACL_MEM_P2P_HUGE};
    for (size_t i = 0; i < sizeof everywhere / sizeof everywhere[0]; i++) {
        size_t some_free = 0, some_total = 0;
        EXPECT_OK(aclrtGetMemInfo(everywhere[i], &some_free, &some_total));
        EXPECT_TRUE(some_total > 0 && some_free > 0, "attribute %d", (int)everywhere[i]);
    }
    /* Pages of 1 GiB do not exist on 310B, 310P and 910. */
    size_t giant_free = 99, giant_total = 99;
    EXPECT_OK(aclrtGetMemInfo(ACL_MEM_HUGE1G, &giant_free, &giant_total));
    EXPECT_TRUE((giant_total > 0) == family_has_batches(), "%zu of %zu", giant_free, giant_total);

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
