// soc: all
// schedules: all
// expects: S2
/* aclrtReduceAsync: sum, maximum and minimum of every type, with
 * precomputed results. A product may lack a combination (207000). */
#include "../expect.h"

#define COUNT 6
#define NAME(type) #type

static struct gate gate = GATE_INITIALIZER;
static aclrtStream stream;
static uint8_t *dst, *src;

/* Computes dst = op(dst, src) over `bytes` bytes for three operations and compares with the expected results. */
static void expect_reduced(const char *name, aclDataType type, const void *left, const void *right, const void *sum,
                   const void *maximum, const void *minimum, size_t bytes)
{
    const void *expected[] = {sum, maximum, minimum};
    for (int op = 0; op < 3; op++) {
        REQUIRE_OK(aclrtMemset(dst, 256, 0x6C, 256));
        REQUIRE_OK(aclrtMemcpy(dst + 64, bytes, left, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
        REQUIRE_OK(aclrtMemcpy(src + 64, bytes, right, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
        aclError got = aclrtReduceAsync(dst + 64, src + 64, bytes, (aclrtReduceKind)(10 + op), type, stream, NULL);
        EXPECT_TRUE(got == 0 || got == 207000, "%s op %d returned %d", name, op, got);
        EXPECT_OK(aclrtSynchronizeStream(stream));
        uint8_t *result = device_bytes(dst, 256);
        if (got == 0) {
            EXPECT_TRUE(memcmp(result + 64, expected[op], bytes) == 0, "%s op %d is wrong", name, op);
        } else {
            EXPECT_TRUE(memcmp(result + 64, left, bytes) == 0, "%s op %d was refused but has an effect", name, op);
        }
        EXPECT_VALUE(result, 64, 0x6C);
        EXPECT_VALUE(result + 64 + bytes, 256 - 64 - bytes, 0x6C);
        uint8_t *source = device_bytes(src + 64, bytes);
        EXPECT_TRUE(memcmp(source, right, bytes) == 0, "%s op %d changed the source", name, op);
        free(source);
        free(result);
    }
}

static void check_integers(void)
{
    const int8_t a8[COUNT] = {1, -5, 100, -128, 0, 7}, b8[COUNT] = {2, 5, 27, 127, -1, -7};
    const int8_t s8[COUNT] = {3, 0, 127, -1, -1, 0}, x8[COUNT] = {2, 5, 100, 127, 0, 7}, n8[COUNT] = {1, -5, 27, -128,
                                                                                                      -1, -7};
    expect_reduced(NAME(ACL_INT8), ACL_INT8, a8, b8, s8, x8, n8, sizeof a8);
    const uint8_t au8[COUNT] = {1, 200, 0, 255, 128, 9}, bu8[COUNT] = {3, 55, 0, 0, 127, 10};
    const uint8_t su8[COUNT] = {4, 255, 0, 255, 255, 19}, xu8[COUNT] = {3, 200, 0, 255, 128, 10},
                  nu8[COUNT] = {1, 55, 0, 0, 127, 9};
    expect_reduced(NAME(ACL_UINT8), ACL_UINT8, au8, bu8, su8, xu8, nu8, sizeof au8);
    const int16_t a16[COUNT] = {300, -32768, 1, 20000, -1, 0}, b16[COUNT] = {-300, 32767, 2, 12767, -2, 0};
    const int16_t s16[COUNT] = {0, -1, 3, 32767, -3, 0}, x16[COUNT] = {300, 32767, 2, 20000, -1, 0},
                  n16[COUNT] = {-300, -32768, 1, 12767, -2, 0};
    expect_reduced(NAME(ACL_INT16), ACL_INT16, a16, b16, s16, x16, n16, sizeof a16);
    const uint16_t au16[COUNT] = {40000, 1, 0, 65535, 32768, 5}, bu16[COUNT] = {25535, 2, 0, 0, 32767, 6};
    const uint16_t su16[COUNT] = {65535, 3, 0, 65535, 65535, 11}, xu16[COUNT] = {40000, 2, 0, 65535, 32768, 6},
                   nu16[COUNT] = {25535, 1, 0, 0, 32767, 5};
    expect_reduced(NAME(ACL_UINT16), ACL_UINT16, au16, bu16, su16, xu16, nu16, sizeof au16);
    const int32_t a32[COUNT] = {1000000, INT32_MIN, -1, 7, 0, 123}, b32[COUNT] = {-1, INT32_MAX, -2, 8, 0, -123};
    const int32_t s32[COUNT] = {999999, -1, -3, 15, 0, 0}, x32[COUNT] = {1000000, INT32_MAX, -1, 8, 0, 123},
                  n32[COUNT] = {-1, INT32_MIN, -2, 7, 0, -123};
    expect_reduced(NAME(ACL_INT32), ACL_INT32, a32, b32, s32, x32, n32, sizeof a32);
    const uint32_t au32[COUNT] = {3000000000u, 1, 0, UINT32_MAX, 10, 2}, bu32[COUNT] = {1000000000u, 2, 0, 0, 5, 2};
    const uint32_t su32[COUNT] = {4000000000u, 3, 0, UINT32_MAX, 15, 4}, xu32[COUNT] = {3000000000u, 2, 0, UINT32_MAX,
                                                                                        10, 2},
                   nu32[COUNT] = {1000000000u, 1, 0, 0, 5, 2};
    expect_reduced(NAME(ACL_UINT32), ACL_UINT32, au32, bu32, su32, xu32, nu32, sizeof au32);
    /* Two 4-bit numbers per byte: (1, -2) with (2, -1), (3, 4) with (-3, 3). */
    const uint8_t a4[2] = {0xE1, 0x43}, b4[2] = {0xF2, 0x3D}, s4[2] = {0xD3, 0x70}, x4[2] = {0xF2, 0x43},
                  n4[2] = {0xE1, 0x3D};
    expect_reduced(NAME(ACL_INT4), ACL_INT4, a4, b4, s4, x4, n4, sizeof a4);
}

static void check_floats(void)
{
    const float a[COUNT] = {1.5f, -2.0f, 0.0f, 1e10f, -0.25f, 3.0f}, b[COUNT] = {2.25f, 5.0f, -1.0f, 1e10f, -0.5f,
                                                                                 -3.0f};
    const float s[COUNT] = {3.75f, 3.0f, -1.0f, 2e10f, -0.75f, 0.0f}, x[COUNT] = {2.25f, 5.0f, 0.0f, 1e10f, -0.25f,
                                                                                  3.0f},
                n[COUNT] = {1.5f, -2.0f, -1.0f, 1e10f, -0.5f, -3.0f};
    expect_reduced(NAME(ACL_FLOAT), ACL_FLOAT, a, b, s, x, n, sizeof a);
    /* Half precision: 1.5, -2, 0, 1024 with 2.25, 5, -1, 1. */
    const uint16_t ah[4] = {0x3E00, 0xC000, 0x0000, 0x6400}, bh[4] = {0x4080, 0x4500, 0xBC00, 0x3C00};
    const uint16_t sh[4] = {0x4380, 0x4200, 0xBC00, 0x6401}, xh[4] = {0x4080, 0x4500, 0x0000, 0x6400},
                   nh[4] = {0x3E00, 0xC000, 0xBC00, 0x3C00};
    expect_reduced(NAME(ACL_FLOAT16), ACL_FLOAT16, ah, bh, sh, xh, nh, sizeof ah);
    /* bfloat16: 1.5, -2, 0, 128 with 2.25, 5, -1, 1. */
    const uint16_t ab[4] = {0x3FC0, 0xC000, 0x0000, 0x4300}, bb[4] = {0x4010, 0x40A0, 0xBF80, 0x3F80};
    const uint16_t sb[4] = {0x4070, 0x4040, 0xBF80, 0x4301}, xb[4] = {0x4010, 0x40A0, 0x0000, 0x4300},
                   nb[4] = {0x3FC0, 0xC000, 0xBF80, 0x3F80};
    expect_reduced(NAME(ACL_BF16), ACL_BF16, ab, bb, sb, xb, nb, sizeof ab);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    dst = (uint8_t *)device_memory(256);
    src = (uint8_t *)device_memory(256);
    check_integers();
    check_floats();

    /* Every product can add floats. The task is asynchronous and runs in stream order. */
    float one = 1.0f, two = 2.0f, result = 0.0f;
    REQUIRE_OK(aclrtMemcpy(dst, 4, &one, 4, ACL_MEMCPY_HOST_TO_DEVICE));
    REQUIRE_OK(aclrtMemcpy(src, 4, &two, 4, ACL_MEMCPY_HOST_TO_DEVICE));
    gate_close(&gate, stream);
    for (int i = 0; i < 10; i++) {
        EXPECT_OK(aclrtReduceAsync(dst, src, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, stream, NULL));
    }
    REQUIRE_OK(aclrtMemcpy(&result, 4, dst, 4, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_TRUE(result == 1.0f, "the task ran before the gate opened: %f", (double)result);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    REQUIRE_OK(aclrtMemcpy(&result, 4, dst, 4, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_TRUE(result == 21.0f, "expected 21, got %f", (double)result);

    EXPECT_OK(aclrtFree(dst));
    EXPECT_OK(aclrtFree(src));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
