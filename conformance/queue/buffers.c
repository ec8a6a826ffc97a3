// softacl-only
/* Shared buffers under both families of names: data, length, user area, references, chains. On a card, wild handles are
 * not checked. */
#include "../expect.h"

#include "acl/acl_tdt_queue.h"

/* The functions of a family. Its handles are plain pointers. */
struct functions {
    aclError (*alloc)(void **, size_t);
    aclError (*free)(void *);
    aclError (*data)(void *, void **, size_t *);
    aclError (*set_len)(void *, size_t);
    aclError (*len)(void *, size_t *);
    aclError (*set_user)(void *, const void *, size_t, size_t);
    aclError (*user)(void *, void *, size_t, size_t);
    aclError (*share)(void *, void **);
    aclError (*append)(void *, void *);
    aclError (*count)(void *, uint32_t *);
    aclError (*member)(void *, uint32_t, void **);
};

/* This family takes a type, which has no effect, and has the other order of parameters. */
static aclError alloc_with_type(void **buffer, size_t size)
{
    return acltdtAllocBuf(size, 0, buffer);
}

static const struct functions runtime_names = {
    aclrtAllocBuf,       aclrtFreeBuf,        aclrtGetBufData,     aclrtSetBufDataLen,
    aclrtGetBufDataLen,  aclrtSetBufUserData, aclrtGetBufUserData, aclrtCopyBufRef,
    aclrtAppendBufChain, aclrtGetBufChainNum, aclrtGetBufFromChain,
};
static const struct functions queue_names = {
    alloc_with_type,      acltdtFreeBuf,        acltdtGetBufData,     acltdtSetBufDataLen,
    acltdtGetBufDataLen,  acltdtSetBufUserData, acltdtGetBufUserData, acltdtCopyBufRef,
    acltdtAppendBufChain, acltdtGetBufChainNum, acltdtGetBufFromChain,
};
/* The family under test. */
static const struct functions *f;

static void *wild_handles[] = {(void *)16, (void *)-1, (void *)0x5ac1900000100000};

static void data_and_length(void)
{
    void *buffer = NULL;
    void *data = NULL;
    size_t size = 0, len = 1;
    REQUIRE_OK(f->alloc(&buffer, 1000));
    EXPECT_OK(f->data(buffer, &data, &size));
    EXPECT_TRUE(data != NULL && size == 1000, "address and capacity");
    memset(data, 7, size);
    EXPECT_OK(f->len(buffer, &len));
    EXPECT_OK(f->set_len(buffer, 1000));
    EXPECT_OK(f->len(buffer, &len));
    EXPECT_TRUE(len == 1000, "length");
    EXPECT_FAILS(f->set_len(buffer, 1001));
    EXPECT_FAILS(f->alloc(&buffer, 0));
    EXPECT_CODE(f->alloc(NULL, 8), ACL_ERROR_INVALID_PARAM);
    EXPECT_CODE(f->data(buffer, NULL, &size), ACL_ERROR_INVALID_PARAM);
    EXPECT_OK(f->free(buffer));
    EXPECT_FAILS(f->free(buffer));
    EXPECT_FAILS(f->len(buffer, &len));
    EXPECT_CODE(f->free(NULL), ACL_ERROR_INVALID_PARAM);
}

static void user_area(void)
{
    void *buffer = NULL;
    char text[8] = "1234567";
    REQUIRE_OK(f->alloc(&buffer, 1));
    EXPECT_OK(f->set_user(buffer, text, 4, 2));
    EXPECT_OK(f->user(buffer, text, 3, 3));
    EXPECT_TRUE(memcmp(text, "2344567", 7) == 0, "3 bytes from offset 3");
    EXPECT_FAILS(f->set_user(buffer, text, 8, (size_t)-4));
    EXPECT_FAILS(f->user(buffer, text, 8, 1 << 20));
    EXPECT_CODE(f->set_user(buffer, NULL, 4, 0), ACL_ERROR_INVALID_PARAM);
    EXPECT_OK(f->free(buffer));
}

static void references(void)
{
    void *first = NULL, *second = NULL;
    void *one = NULL, *other = NULL;
    size_t size = 0;
    REQUIRE_OK(f->alloc(&first, 64));
    REQUIRE_OK(f->share(first, &second));
    EXPECT_OK(f->data(first, &one, &size));
    EXPECT_OK(f->data(second, &other, &size));
    EXPECT_TRUE(first != second && one == other && size == 64, "two handles, one memory");
    memset(one, 9, size);
    EXPECT_OK(f->free(first));
    EXPECT_TRUE(((char *)other)[63] == 9, "the data lives with its last reference");
    EXPECT_OK(f->free(second));
}

static void chains(void)
{
    void *head = NULL, *one = NULL, *two = NULL, *found = NULL;
    uint32_t count = 0;
    REQUIRE_OK(f->alloc(&head, 8));
    REQUIRE_OK(f->alloc(&one, 8));
    REQUIRE_OK(f->alloc(&two, 8));
    EXPECT_OK(f->count(head, &count));
    EXPECT_TRUE(count == 1, "a chain of one");
    EXPECT_OK(f->append(head, one));
    EXPECT_OK(f->append(head, two));
    EXPECT_OK(f->count(head, &count));
    EXPECT_TRUE(count == 3, "a chain of three");
    void *expected[] = {head, one, two};
    for (uint32_t i = 0; i < 3; i++) {
        EXPECT_OK(f->member(head, i, &found));
        EXPECT_TRUE(found == expected[i], "buffer %u", i);
    }
    EXPECT_FAILS(f->member(head, 3, &found));
    EXPECT_FAILS(f->append(head, head));
    EXPECT_FAILS(f->append(head, one));
    EXPECT_OK(f->free(head));
    EXPECT_FAILS(f->free(one));
}

/* On a chip that does not document the family, each of its functions says so. */
static void refusals(const struct functions *names)
{
    void *some = (void *)16, *data = NULL;
    size_t size = 0;
    uint32_t count = 0;
    char text[4] = "";
    EXPECT_CODE(names->alloc(&data, 16), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    EXPECT_CODE(names->free(some), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    EXPECT_CODE(names->data(some, &data, &size), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    EXPECT_CODE(names->set_len(some, 1), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    EXPECT_CODE(names->len(some, &size), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    EXPECT_CODE(names->set_user(some, text, 4, 0), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    EXPECT_CODE(names->user(some, text, 4, 0), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    EXPECT_CODE(names->share(some, &data), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    EXPECT_CODE(names->append(some, some), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    EXPECT_CODE(names->count(some, &count), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    EXPECT_CODE(names->member(some, 0, &data), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
}

static void buffers(const struct functions *names)
{
    f = names;
    data_and_length();
    user_area();
    references();
    chains();
    for (size_t i = 0; i < sizeof wild_handles / sizeof *wild_handles; i++) {
        size_t len = 0;
        EXPECT_FAILS(f->len(wild_handles[i], &len));
        EXPECT_FAILS(f->free(wild_handles[i]));
    }
}

/* Both families have the same buffers. */
static void across_families(void)
{
    void *buffer = NULL;
    size_t len = 0;
    REQUIRE_OK(acltdtAllocBuf(16, 0, &buffer));
    EXPECT_OK(acltdtSetBufDataLen(buffer, 5));
    EXPECT_OK(aclrtGetBufDataLen(buffer, &len));
    EXPECT_TRUE(len == 5, "length %zu", len);
    EXPECT_OK(aclrtFreeBuf(buffer));
    EXPECT_FAILS(acltdtFreeBuf(buffer));
}

int main(void)
{
    buffers(&runtime_names);
    if (family() == FAMILY_310B) {
        buffers(&queue_names);
        across_families();
    } else {
        refusals(&queue_names);
    }
    return finish();
}
