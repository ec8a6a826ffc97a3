// soc: Ascend910B
// softacl-only
// env: SOFTACL_FAULTS=buffer[size=64]=fail
// expects: M1 R1
// sanitize: none (an address that is not mapped is the subject)
/* Sentences of errors name what the program passed: bytes as bytes, an address that is not mapped as such, what is free,
 * and no numbers of a memory whose size is unknown. */
#include "../expect.h"
#include <acl/acl_tdt.h>
#include <sys/mman.h>

/* The numbers of acltdtTensorType are not public. */
#define SOME_TYPE ((acltdtTensorType)1)

static void expect_sentence(const char *wanted, const char *unwanted)
{
    const char *text = aclGetRecentErrMsg();
    text = text == NULL ? "(none)" : text;
    EXPECT_TRUE(strstr(text, wanted) != NULL && strstr(text, unwanted) == NULL, "not \"%s\": %s", wanted, text);
}

/* What is free is the whole without what is reserved. */
static void free_addresses(void)
{
    const size_t all = (size_t)1 << 62, reserved = (size_t)64 << 20;
    unsigned long long before = 0, after = 0, total = 0;
    void *start = NULL, *none = NULL;
    EXPECT_FAILS(aclrtReserveMemAddress(&none, all, 0, NULL, 0));
    const char *text = aclGetRecentErrMsg(), *numbers = text == NULL ? NULL : strstr(text, "requested");
    EXPECT_TRUE(numbers != NULL && sscanf(numbers, "requested%*[^0-9]%llu of %llu", &before, &total) == 2, "%s",
                text == NULL ? "(none)" : text);
    EXPECT_TRUE(before > 0 && before <= total, "%llu of %llu bytes", before, total);
    REQUIRE_OK(aclrtReserveMemAddress(&start, reserved, 0, NULL, 0));
    EXPECT_FAILS(aclrtReserveMemAddress(&none, all, 0, NULL, 0));
    text = aclGetRecentErrMsg();
    numbers = text == NULL ? NULL : strstr(text, "requested");
    EXPECT_TRUE(numbers != NULL && sscanf(numbers, "requested%*[^0-9]%llu of", &after) == 1, "%s",
                text == NULL ? "(none)" : text);
    EXPECT_TRUE(after + reserved == before, "%llu bytes, then %llu", before, after);
    EXPECT_OK(aclrtReleaseMemAddress(start));
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    free_addresses();
    void *device = device_memory(64);
    /* An address with no memory: mapped, and unmapped again. */
    void *hole = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE_TRUE(hole != MAP_FAILED && munmap(hole, 4096) == 0, "mmap");
    int local = 0;

    char key[65];
    EXPECT_FAILS(aclrtIpcMemGetExportKey(hole, 64, key, sizeof key, 0));
    expect_sentence("not mapped", "pageable");
    EXPECT_FAILS(aclrtFree(hole));
    expect_sentence("not mapped", "pageable");
    EXPECT_FAILS(aclrtFree(&local));
    expect_sentence("pageable host memory", "not mapped");

    acltdtChannelHandle *channel = acltdtCreateChannelWithCapacity(0, "sentences", 1);
    REQUIRE_TRUE(channel != NULL, "channel");
    int64_t dims[] = {64};
    acltdtDataItem *item = acltdtCreateDataItem(SOME_TYPE, dims, 1, ACL_UINT8, hole, 64);
    acltdtDataset *list = acltdtCreateDataset();
    REQUIRE_OK(acltdtAddDataItem(list, item));
    EXPECT_FAILS(acltdtSendTensor(channel, list, 0));
    expect_sentence("64 bytes", "elements");
    EXPECT_OK(acltdtDestroyDataset(list));
    EXPECT_OK(acltdtDestroyDataItem(item));

    /* No host memory for the copy of the tensor. */
    item = acltdtCreateDataItem(SOME_TYPE, dims, 1, ACL_UINT8, key, 64);
    list = acltdtCreateDataset();
    REQUIRE_OK(acltdtAddDataItem(list, item));
    EXPECT_FAILS(acltdtSendTensor(channel, list, 0));
    expect_sentence("64 bytes requested for a tensor", "0 of 0");
    EXPECT_OK(acltdtDestroyDataset(list));
    EXPECT_OK(acltdtDestroyDataItem(item));
    EXPECT_OK(acltdtDestroyChannel(channel));
    EXPECT_OK(aclrtFree(device));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
