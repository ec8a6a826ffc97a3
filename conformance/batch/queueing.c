// soc: Ascend910B Ascend910C Ascend950
// schedules: all
// expects: H3 S2
/* An asynchronous batch is queued if all its host memory is
 * pinned. With pageable items the call waits for the stream. */
#include "variants.h"

#define SIZE 512
#define ITEMS 3

static struct gate gate = GATE_INITIALIZER;
static struct flag calling = FLAG_INITIALIZER;
static struct flag returned = FLAG_INITIALIZER;
static void *dsts[ITEMS], *srcs[ITEMS];
static size_t maxs[ITEMS], sizes[ITEMS], indexes[1];
static aclrtMemcpyBatchAttr attrs[1];
static struct batch b = {dsts, maxs, srcs, sizes, ITEMS, attrs, indexes, 1};
static aclrtStream stream;

static void *caller(void *variant)
{
    REQUIRE_OK(aclrtSetDevice(0));
    size_t index = UNTOUCHED;
    flag_set(&calling, 1);
    EXPECT_CODE(batch_call(*(enum variant *)variant, b, &index, stream), 0);
    flag_set(&returned, 1);
    EXPECT_OK(aclrtResetDevice(0));
    return NULL;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(ITEMS * SIZE);
    uint8_t *device = (uint8_t *)device_memory(ITEMS * SIZE);
    uint8_t *pageable = (uint8_t *)pageable_memory(SIZE);
    attrs[0] = device_to_host();

    for (int f = ASYNC; f < VARIANTS; f++) {
        enum variant variant = (enum variant)f;
        for (int i = 0; i < ITEMS; i++) {
            dsts[i] = pinned + i * SIZE;
            srcs[i] = device + i * SIZE;
            maxs[i] = sizes[i] = SIZE;
        }
        memset(pinned, 0, ITEMS * SIZE);
        gate_close(&gate, stream);
        EXPECT_BATCH(variant, b, stream, 0, SIZE_MAX);
        device_fill(device, ITEMS * SIZE, 20); /* the queued batch reads the contents later */
        EXPECT_TRUE(stream_is_busy(stream), "the stream is not blocked");
        EXPECT_VALUE(pinned, ITEMS * SIZE, 0);
        gate_open(&gate);
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_PATTERN(pinned, ITEMS * SIZE, 20);

        /* The caller may change the arrays as soon as the call has returned. */
        memset(pinned, 0, ITEMS * SIZE);
        gate_close(&gate, stream);
        EXPECT_BATCH(variant, b, stream, 0, SIZE_MAX);
        for (int i = 0; i < ITEMS; i++) {
            dsts[i] = srcs[i] = NULL;
            sizes[i] = 0;
        }
        gate_open(&gate);
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_PATTERN(pinned, ITEMS * SIZE, 20);

        /* With a pageable item the call waits for the stream, and the item is complete on return. */
        for (int i = 0; i < ITEMS; i++) {
            dsts[i] = pinned + i * SIZE;
            srcs[i] = device + i * SIZE;
            sizes[i] = SIZE;
        }
        dsts[1] = pageable;
        memset(pageable, 0, SIZE);
        flag_set(&calling, 0);
        flag_set(&returned, 0);
        gate_close(&gate, stream);
        pthread_t thread;
        REQUIRE_TRUE(pthread_create(&thread, NULL, caller, &variant) == 0, "pthread_create");
        flag_await(&calling, 1);
        EXPECT_TRUE(flag_never_becomes(&returned, 1), "returned while the stream was blocked");
        gate_open(&gate);
        REQUIRE_TRUE(pthread_join(thread, NULL) == 0, "pthread_join");
        uint8_t *bytes = device_bytes(device, ITEMS * SIZE);
        EXPECT_TRUE(memcmp(pageable, bytes + SIZE, SIZE) == 0, "the pageable item is not complete");
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_TRUE(memcmp(pinned + 2 * SIZE, bytes + 2 * SIZE, SIZE) == 0,
                    "the item after the pageable one has not run");
        free(bytes);
    }

    free(pageable);
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
