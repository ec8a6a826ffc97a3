// soc: all
// schedules: all
/* 2D copies write `width` bytes of each row and leave the bytes between the rows unchanged. */
#include "../expect.h"

#define HEIGHT 19
#define WIDTH 45
#define SPITCH 45
#define DPITCH 71

/* Writes rows of pattern `seed` at the given pitch and nothing between them. */
static void write_rows(uint8_t *memory, size_t pitch, uint32_t seed)
{
    for (uint32_t row = 0; row < HEIGHT; row++) {
        fill_pattern(memory + row * pitch, WIDTH, seed + row);
    }
}

static void expect_rows(const uint8_t *memory, size_t pitch, uint32_t seed, uint8_t padding, int line)
{
    size_t wrong = 0;
    for (uint32_t row = 0; row < HEIGHT; row++) {
        wrong += verify_pattern(memory + row * pitch, WIDTH, seed + row) != WIDTH;
        wrong += row + 1 < HEIGHT && verify_value(memory + row * pitch + WIDTH, pitch - WIDTH,
                                                  padding) != pitch - WIDTH;
    }
    expect_true(wrong == 0, "rows", __FILE__, line, "%zu rows or paddings are wrong", wrong);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    const size_t narrow = SPITCH * HEIGHT, wide = DPITCH * HEIGHT;
    uint8_t *pinned = (uint8_t *)pinned_memory(wide);
    uint8_t *pageable = (uint8_t *)pageable_memory(wide);
    uint8_t *device = (uint8_t *)device_memory(wide);
    uint8_t *dense = (uint8_t *)device_memory(narrow);
    uint8_t *hosts[] = {pinned, pageable};
    uint32_t seed = 100;

    for (int round = 0; round < 8; round++, seed += 100) {
        uint8_t *host = hosts[round % 2];
        int asynchronous = round / 2 % 2;
        aclrtMemcpyKind in = round < 4 ? ACL_MEMCPY_HOST_TO_DEVICE : ACL_MEMCPY_DEFAULT;
        aclrtMemcpyKind out = round < 4 ? ACL_MEMCPY_DEVICE_TO_HOST : ACL_MEMCPY_DEFAULT;

        write_rows(host, SPITCH, seed);
        REQUIRE_OK(aclrtMemset(device, wide, 0xEE, wide));
        EXPECT_OK(asynchronous ? aclrtMemcpy2dAsync(device, DPITCH, host, SPITCH, WIDTH, HEIGHT, in, stream)
                               : aclrtMemcpy2d(device, DPITCH, host, SPITCH, WIDTH, HEIGHT, in));
        if (asynchronous && host == pageable) {
            memset(pageable, 0, narrow); /* a pageable source has been read on return */
        }
        EXPECT_OK(aclrtSynchronizeStream(stream));
        uint8_t *bytes = device_bytes(device, wide);
        expect_rows(bytes, DPITCH, seed, 0xEE, __LINE__);
        free(bytes);

        memset(host, 0xDD, wide);
        EXPECT_OK(asynchronous ? aclrtMemcpy2dAsync(host, DPITCH, device, DPITCH, WIDTH, HEIGHT, out, stream)
                               : aclrtMemcpy2d(host, DPITCH, device, DPITCH, WIDTH, HEIGHT, out));
        if (host == pinned) {
            EXPECT_OK(aclrtSynchronizeStream(stream));
        }
        expect_rows(host, DPITCH, seed, 0xDD, __LINE__);
        EXPECT_VALUE(host + wide - (DPITCH - WIDTH), DPITCH - WIDTH, 0xDD);
    }

    /* Device to device, asynchronous only; documented for A2, A3 and 950. */
    REQUIRE_OK(aclrtMemset(dense, narrow, 0, narrow));
    aclError got = aclrtMemcpy2dAsync(dense, SPITCH, device, DPITCH, WIDTH, HEIGHT, ACL_MEMCPY_DEVICE_TO_DEVICE,
                                      stream);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    if (family_has_batches()) {
        EXPECT_CODE(got, 0);
    } else {
        EXPECT_TRUE(got == 0 || got == 207000, "device to device returned %d", got);
    }
    if (got == 0) {
        uint8_t *bytes = device_bytes(dense, narrow);
        expect_rows(bytes, SPITCH, seed - 100, 0, __LINE__);
        free(bytes);
    }

    /* The last row may end at the end of the allocation. */
    EXPECT_OK(aclrtMemcpy2d(device, DPITCH, pageable, DPITCH, WIDTH, HEIGHT, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_OK(aclrtMemcpy2d(device + DPITCH - WIDTH, DPITCH, pageable + DPITCH - WIDTH, DPITCH, WIDTH, HEIGHT,
                            ACL_MEMCPY_HOST_TO_DEVICE));

    free(pageable);
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFree(dense));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
