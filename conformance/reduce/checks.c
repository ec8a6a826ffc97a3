// soc: all
// schedules: all
// expects: C1 C2 S1
/* aclrtReduceAsync: argument checks. The count is in bytes. */
#include "../expect.h"

#define SIZE 64
#define SUM ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM
#define MAX ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX

static uint8_t *dst, *src;
static aclrtStream stream;

static void *without_context(void *unused)
{
    (void)unused;
    EXPECT_CODE(aclrtReduceAsync(dst, src, SIZE, SUM, ACL_FLOAT, stream, NULL), 107002);
    EXPECT_CODE(aclrtReduceAsync(dst, src, 0, SUM, ACL_FLOAT, stream, NULL), 107000);
    return NULL;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    dst = (uint8_t *)device_memory(SIZE);
    src = (uint8_t *)device_memory(SIZE);
    int reserve = 0;

    EXPECT_CODE(aclrtReduceAsync(NULL, src, SIZE, SUM, ACL_FLOAT, stream, NULL), 100000);
    EXPECT_CODE(aclrtReduceAsync(dst, NULL, SIZE, SUM, ACL_FLOAT, stream, NULL), 100000);
    EXPECT_CODE(aclrtReduceAsync(dst, src, SIZE, SUM, ACL_FLOAT, stream, &reserve), 100000);
    static const aclDataType bad[] = {ACL_DT_UNDEFINED, ACL_INT64, ACL_UINT64, ACL_DOUBLE, ACL_BOOL, ACL_STRING,
                                      ACL_COMPLEX64,    ACL_UINT1, ACL_FLOAT8_E5M2};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        EXPECT_CODE(aclrtReduceAsync(dst, src, SIZE, SUM, bad[i], stream, NULL), 100000);
        /* the type is checked before count and kind */
        EXPECT_CODE(aclrtReduceAsync(dst, src, 0, (aclrtReduceKind)1, bad[i], stream, NULL), 100000);
    }
    EXPECT_CODE(aclrtReduceAsync(dst, src, 0, SUM, ACL_FLOAT, stream, NULL), 107000);
    EXPECT_CODE(aclrtReduceAsync(dst, src, SIZE, (aclrtReduceKind)9, ACL_FLOAT, stream, NULL), 107000);
    EXPECT_CODE(aclrtReduceAsync(dst, src, SIZE, (aclrtReduceKind)14, ACL_FLOAT, stream, NULL), 107000);
    EXPECT_CODE(aclrtReduceAsync(dst, src, SIZE, (aclrtReduceKind)0, ACL_FLOAT, stream, NULL), 107000);
    EXPECT_CODE(aclrtReduceAsync(dst, src, ((uint64_t)4 << 30) + 1, SUM, ACL_FLOAT, stream, NULL), 107000);
    in_new_thread(without_context, NULL);

    aclrtContext primary = NULL, other = NULL;
    REQUIRE_OK(aclrtGetCurrentContext(&primary));
    REQUIRE_OK(aclrtCreateContext(&other, 0));
    EXPECT_CODE(aclrtReduceAsync(dst, src, SIZE, SUM, ACL_FLOAT, stream, NULL), 107003);
    REQUIRE_OK(aclrtSetCurrentContext(primary));
    EXPECT_OK(aclrtDestroyContext(other));

    /* Alignment: four bytes for 32-bit types, two for 16-bit types, none for 8-bit types. */
    EXPECT_CODE(aclrtReduceAsync(dst + 2, src, 4, SUM, ACL_FLOAT, stream, NULL), 107008);
    EXPECT_CODE(aclrtReduceAsync(dst, src + 1, 4, SUM, ACL_FLOAT, stream, NULL), 107008);
    EXPECT_EITHER(aclrtReduceAsync(dst + 2, src, 4, SUM, ACL_INT32, stream, NULL), 107008, 207000);
    EXPECT_EITHER(aclrtReduceAsync(dst + 1, src, 4, SUM, ACL_FLOAT16, stream, NULL), 107008, 207000);
    EXPECT_EITHER(aclrtReduceAsync(dst, src + 1, 4, MAX, ACL_INT16, stream, NULL), 107008, 207000);
    EXPECT_EITHER(aclrtReduceAsync(dst + 2, src + 2, 4, SUM, ACL_FLOAT16, stream, NULL), 0, 207000);
    EXPECT_EITHER(aclrtReduceAsync(dst + 1, src + 3, 4, SUM, ACL_INT8, stream, NULL), 0, 207000);

    /* EQUAL has no documented effect; a product may refuse it. */
    EXPECT_EITHER(aclrtReduceAsync(dst, src, SIZE, ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL, ACL_FLOAT, stream, NULL), 0,
                  207000);
    EXPECT_OK(aclrtReduceAsync(dst, src, SIZE, SUM, ACL_FLOAT, NULL, NULL)); /* the default stream */
    EXPECT_OK(aclrtSynchronizeDevice());

    EXPECT_OK(aclrtFree(dst));
    EXPECT_OK(aclrtFree(src));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
