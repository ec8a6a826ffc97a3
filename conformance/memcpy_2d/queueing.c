// soc: all
// schedules: all
// expects: S2
/* aclrtMemcpy2dAsync queues copies with pinned memory. With pageable
 * memory it waits for the stream and is complete on return. */
#include "../expect.h"

#define PITCH 128
#define WIDTH 100
#define HEIGHT 8
#define SPAN (PITCH * HEIGHT)

static struct gate gate = GATE_INITIALIZER;

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(SPAN);
    uint8_t *pageable = (uint8_t *)pageable_memory(SPAN);
    uint8_t *device = (uint8_t *)device_memory(SPAN);
    fill_pattern(pinned, SPAN, 1);

    gate_close(&gate, stream);
    EXPECT_OK(aclrtMemcpy2dAsync(device, PITCH, pinned, PITCH, WIDTH, HEIGHT, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    gate_await(&gate);
    EXPECT_TRUE(stream_is_busy(stream), "the stream is not blocked");
    EXPECT_DEVICE_VALUE(device, SPAN, 0);
    /* The blocking call does not wait for the stream. */
    EXPECT_OK(aclrtMemcpy2d(pageable, PITCH, device, PITCH, WIDTH, HEIGHT, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_VALUE(pageable, SPAN, 0);
    gate_open(&gate);
    /* 1.4 row 11: pageable memory */
    EXPECT_OK(aclrtMemcpy2dAsync(pageable, PITCH, device, PITCH, WIDTH, HEIGHT, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_TRUE(gate_passed(&gate) == 1, "the call did not wait for the stream");
    for (size_t row = 0; row < HEIGHT; row++) {
        EXPECT_TRUE(memcmp(pageable + row * PITCH, pinned + row * PITCH, WIDTH) == 0, "row %zu", row);
        EXPECT_VALUE(pageable + row * PITCH + WIDTH, PITCH - WIDTH, 0);
    }

    free(pageable);
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
