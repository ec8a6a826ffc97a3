// softacl-only
/* Shared buffers: data, length, user area, references, chains. On a card, wild handles are not checked. */
#include "../expect.h"

#include "acl/acl_tdt_queue.h"

static void *wild_handles[] = {(void *)16, (void *)-1, (void *)0x5ac1900000100000};

static void data_and_length(void)
{
    aclrtMbuf buffer = NULL;
    void *data = NULL;
    size_t size = 0, len = 1;
    REQUIRE_OK(aclrtAllocBuf(&buffer, 1000));
    EXPECT_OK(aclrtGetBufData(buffer, &data, &size));
    EXPECT_TRUE(data != NULL && size == 1000, "address and capacity");
    memset(data, 7, size);
    EXPECT_OK(aclrtGetBufDataLen(buffer, &len));
    EXPECT_OK(aclrtSetBufDataLen(buffer, 1000));
    EXPECT_OK(aclrtGetBufDataLen(buffer, &len));
    EXPECT_TRUE(len == 1000, "length");
    EXPECT_FAILS(aclrtSetBufDataLen(buffer, 1001));
    EXPECT_FAILS(aclrtAllocBuf(&buffer, 0));
    EXPECT_CODE(aclrtAllocBuf(NULL, 8), ACL_ERROR_INVALID_PARAM);
    EXPECT_CODE(aclrtGetBufData(buffer, NULL, &size), ACL_ERROR_INVALID_PARAM);
    EXPECT_OK(aclrtFreeBuf(buffer));
    EXPECT_FAILS(aclrtFreeBuf(buffer));
    EXPECT_FAILS(aclrtGetBufDataLen(buffer, &len));
    EXPECT_CODE(aclrtFreeBuf(NULL), ACL_ERROR_INVALID_PARAM);
}

static void user_area(void)
{
    aclrtMbuf buffer = NULL;
    char text[8] = "1234567";
    REQUIRE_OK(aclrtAllocBuf(&buffer, 1));
    EXPECT_OK(aclrtSetBufUserData(buffer, text, 4, 2));
    EXPECT_OK(aclrtGetBufUserData(buffer, text, 3, 3));
    EXPECT_TRUE(memcmp(text, "2344567", 7) == 0, "3 bytes from offset 3");
    EXPECT_FAILS(aclrtSetBufUserData(buffer, text, 8, (size_t)-4));
    EXPECT_FAILS(aclrtGetBufUserData(buffer, text, 8, 1 << 20));
    EXPECT_CODE(aclrtSetBufUserData(buffer, NULL, 4, 0), ACL_ERROR_INVALID_PARAM);
    EXPECT_OK(aclrtFreeBuf(buffer));
}

static void references(void)
{
    aclrtMbuf first = NULL, second = NULL;
    void *one = NULL, *other = NULL;
    size_t size = 0;
    REQUIRE_OK(aclrtAllocBuf(&first, 64));
    REQUIRE_OK(aclrtCopyBufRef(first, &second));
    EXPECT_OK(aclrtGetBufData(first, &one, &size));
    EXPECT_OK(aclrtGetBufData(second, &other, &size));
    EXPECT_TRUE(first != second && one == other && size == 64, "two handles, one memory");
    memset(one, 9, size);
    EXPECT_OK(aclrtFreeBuf(first));
    EXPECT_TRUE(((char *)other)[63] == 9, "the data lives with its last reference");
    EXPECT_OK(aclrtFreeBuf(second));
}

static void chains(void)
{
    aclrtMbuf head = NULL, one = NULL, two = NULL, found = NULL;
    uint32_t count = 0;
    REQUIRE_OK(aclrtAllocBuf(&head, 8));
    REQUIRE_OK(aclrtAllocBuf(&one, 8));
    REQUIRE_OK(aclrtAllocBuf(&two, 8));
    EXPECT_OK(aclrtGetBufChainNum(head, &count));
    EXPECT_TRUE(count == 1, "a chain of one");
    EXPECT_OK(aclrtAppendBufChain(head, one));
    EXPECT_OK(aclrtAppendBufChain(head, two));
    EXPECT_OK(aclrtGetBufChainNum(head, &count));
    EXPECT_TRUE(count == 3, "a chain of three");
    aclrtMbuf expected[] = {head, one, two};
    for (uint32_t i = 0; i < 3; i++) {
        EXPECT_OK(aclrtGetBufFromChain(head, i, &found));
        EXPECT_TRUE(found == expected[i], "buffer %u", i);
    }
    EXPECT_FAILS(aclrtGetBufFromChain(head, 3, &found));
    EXPECT_FAILS(aclrtAppendBufChain(head, head));
    EXPECT_FAILS(aclrtAppendBufChain(head, one));
    EXPECT_OK(aclrtFreeBuf(head));
    EXPECT_FAILS(aclrtFreeBuf(one));
}

/* The other family has the same buffers, on the chips that document it. */
static void other_family(void)
{
    acltdtBuf buffer = NULL;
    aclError code = acltdtAllocBuf(16, 0, &buffer);
    if (code == ACL_ERROR_RT_FEATURE_NOT_SUPPORT) {
        EXPECT_CODE(acltdtFreeBuf((void *)16), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
        return;
    }
    EXPECT_OK(code);
    size_t len = 1;
    EXPECT_OK(acltdtSetBufDataLen(buffer, 5));
    EXPECT_OK(acltdtGetBufDataLen(buffer, &len));
    EXPECT_TRUE(len == 5, "length");
    EXPECT_OK(acltdtFreeBuf(buffer));
}

int main(void)
{
    data_and_length();
    user_area();
    references();
    chains();
    other_family();
    for (size_t i = 0; i < sizeof wild_handles / sizeof *wild_handles; i++) {
        size_t len = 0;
        EXPECT_FAILS(aclrtGetBufDataLen(wild_handles[i], &len));
        EXPECT_FAILS(aclrtFreeBuf(wild_handles[i]));
    }
    return finish();
}
