// soc: all
// schedules: all
// expects: C1 C2 S2
/* aclrtMemsetD32 and aclrtMemsetD32Async. On products without them they return 0 and write nothing. */
#include "../expect.h"

#define WORDS 300
#define SIZE (4 * WORDS)

static struct gate gate = GATE_INITIALIZER;
static uint8_t *device;
static aclrtStream stream;

static void expect_words(const void *memory, uint32_t value, size_t count, int line)
{
    uint8_t *bytes = (uint8_t *)pageable_memory(SIZE);
    REQUIRE_OK(aclrtMemcpy(bytes, SIZE, memory, SIZE, ACL_MEMCPY_DEFAULT));
    size_t wrong = 0;
    for (size_t i = 0; i < WORDS; i++) {
        uint32_t word;
        memcpy(&word, bytes + 4 * i, 4);
        wrong += word != (i < count ? value : 0);
    }
    expect_true(wrong == 0, "words", __FILE__, line, "%zu words differ", wrong);
    free(bytes);
}

static void *without_context(void *unused)
{
    (void)unused;
    EXPECT_OK(aclrtMemsetD32(NULL, 0, 1, 0));
    EXPECT_CODE(aclrtMemsetD32(device, SIZE, 1, WORDS), 107002);
    EXPECT_CODE(aclrtMemsetD32Async(device, SIZE, 1, WORDS, stream), 107002);
    return NULL;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    device = (uint8_t *)device_memory(SIZE);
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    uint8_t *pageable = (uint8_t *)pageable_memory(SIZE);

    EXPECT_OK(aclrtMemsetD32(NULL, 0, 1, 0));                                  /* 1.8 D32: N == 0 is checked first */
    EXPECT_CODE(aclrtMemsetD32(NULL, SIZE, 1, WORDS), 100000);                 /* 1.8 D32: null */
    EXPECT_CODE(aclrtMemsetD32(device + 1, SIZE - 4, 1, 1), 100000);           /* 1.8 D32: alignment */
    EXPECT_CODE(aclrtMemsetD32(device + 2, SIZE - 4, 1, 1), 100000);
    EXPECT_CODE(aclrtMemsetD32(device, SIZE - 1, 1, WORDS), 100000);           /* 1.8 D32: memSize < 4 N */
    EXPECT_CODE(aclrtMemsetD32(device, SIZE, 1, SIZE_MAX / 2), 100000);        /* 4 N does not overflow */
    EXPECT_CODE(aclrtMemsetD32(device, SIZE, 1, (size_t)1 << 62), 100000);
    /* 1.8 D32: memory that the library did not allocate */
    EXPECT_CODE(aclrtMemsetD32(pageable, SIZE, 1, WORDS), 100000);
    EXPECT_OK(aclrtMemsetD32Async(NULL, 0, 1, 0, stream));
    EXPECT_CODE(aclrtMemsetD32Async(NULL, SIZE, 1, WORDS, stream), 100000);
    EXPECT_CODE(aclrtMemsetD32Async(device + 1, SIZE - 4, 1, 1, stream), 100000);
    EXPECT_CODE(aclrtMemsetD32Async(device, SIZE - 1, 1, WORDS, stream), 100000);
    EXPECT_CODE(aclrtMemsetD32Async(pageable, SIZE, 1, WORDS, stream), 100000);

    if (!family_has_batches()) { /* 1.8 D32: 0 instead of 207000 */
        EXPECT_OK(aclrtMemsetD32(device, SIZE, 0x01020304, WORDS));
        EXPECT_OK(aclrtMemsetD32Async(device, SIZE, 0x01020304, WORDS, stream));
        EXPECT_OK(aclrtSynchronizeStream(stream));
        expect_words(device, 0, WORDS, __LINE__);
    } else {
        EXPECT_CODE(aclrtMemsetD32Async(device, SIZE, 1, WORDS, stale_stream()), 107017);
        aclrtContext primary = NULL, foreign = NULL;
        REQUIRE_OK(aclrtGetCurrentContext(&primary));
        REQUIRE_OK(aclrtCreateContext(&foreign, 0));
        EXPECT_CODE(aclrtMemsetD32Async(device, SIZE, 1, WORDS, stream), 107003); /* 1.8: other context */
        EXPECT_CODE(aclrtMemsetD32Async(pinned, SIZE, 1, WORDS, stream), 107003);
        REQUIRE_OK(aclrtSetCurrentContext(primary));
        EXPECT_OK(aclrtDestroyContext(foreign));
        in_new_thread(without_context, NULL);
        EXPECT_OK(aclrtMemsetD32(device, SIZE, 0x01020304, WORDS));
        expect_words(device, 0x01020304, WORDS, __LINE__);
        EXPECT_OK(aclrtMemset(device, SIZE, 0, SIZE));
        EXPECT_OK(aclrtMemsetD32(device, SIZE, 0xFFFFFFFE, 7)); /* writes N words, not memSize bytes */
        expect_words(device, 0xFFFFFFFE, 7, __LINE__);
        EXPECT_OK(aclrtMemsetD32(pinned, SIZE, 0x80000001, WORDS));
        expect_words(pinned, 0x80000001, WORDS, __LINE__);

        EXPECT_OK(aclrtMemset(device, SIZE, 0, SIZE));
        memset(pinned, 0, SIZE);
        gate_close(&gate, stream);
        EXPECT_OK(aclrtMemsetD32Async(device, SIZE, 0xABCD, WORDS, stream));
        EXPECT_OK(aclrtMemsetD32Async(pinned, SIZE, 0xCAFE, WORDS, stream)); /* host memory is set during the call */
        expect_words(pinned, 0xCAFE, WORDS, __LINE__);
        expect_words(device, 0, WORDS, __LINE__);
        gate_open(&gate);
        EXPECT_OK(aclrtSynchronizeStream(stream));
        expect_words(device, 0xABCD, WORDS, __LINE__);
    }
    free(pageable);
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
