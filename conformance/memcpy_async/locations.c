// soc: all
// schedules: all
/* The kind and location table of aclrtMemcpyAsync, complete: three places, three places, eight kinds. */
#include "../expect.h"

#define SIZE 4096

typedef aclError (*copy_call)(void *, size_t, const void *, size_t, aclrtMemcpyKind, aclrtStream);

enum place { H, D, U, PLACES };

/* The driver decides: neither a parameter error nor a missing feature, and right data if it succeeds. */
#define DRIVER (-1)

static aclError expected(enum place source, enum place target, int kind)
{
    /* rows of the table in 1.2; columns are kinds 0 to 5 */
    static const aclError table[PLACES][PLACES][6] = {
        {   /* from H */
            {207000, 207000, 207000, 207000, 207000, 107000}, /* to H */
            {0, 0, 0, 0, 0, 0},                               /* to D */
            {207000, DRIVER, 107000, 107000, 207000, 107000}, /* to U */
        },
        {   /* from D */
            {0, 0, 0, 0, 0, 107000},                          /* to H */
            {0, 0, 0, 0, 0, 107000},                          /* to D */
            {107000, 107000, 0, DRIVER, 0, 107000},           /* to U; declared D2D goes to the device as it is */
        },
        {   /* from U */
            {207000, 107000, DRIVER, 107000, 207000, 107000}, /* to H */
            {107000, 0, 107000, DRIVER, 0, 0},                /* to D */
            {207000, DRIVER, DRIVER, DRIVER, 207000, 107000}, /* to U */
        },
    };
    return kind > 5 ? 100000 : table[source][target][kind];
}

static void case_of(copy_call copy, enum place from, enum place to, uint8_t *source, uint8_t *target, int kind,
                    aclrtStream stream, uint32_t seed)
{
    uint8_t *bytes = (uint8_t *)pageable_memory(SIZE);
    fill_pattern(bytes, SIZE, seed);
    REQUIRE_OK(aclrtMemcpy(source, SIZE, bytes, SIZE, ACL_MEMCPY_DEFAULT));
    memset(bytes, 0x77, SIZE);
    REQUIRE_OK(aclrtMemcpy(target, SIZE, bytes, SIZE, ACL_MEMCPY_DEFAULT));

    aclError want = expected(from, to, kind);
    aclError got = copy(target, SIZE, source, SIZE, (aclrtMemcpyKind)kind, stream);
    aclError waited = aclrtSynchronizeStream(stream);
    REQUIRE_OK(aclrtMemcpy(bytes, SIZE, target, SIZE, ACL_MEMCPY_DEFAULT));
    int copied = verify_pattern(bytes, SIZE, seed) == SIZE;
    int untouched = verify_value(bytes, SIZE, 0x77) == SIZE;
    static const char *names[] = {"H", "D", "U"};
    if (want == DRIVER) {
        EXPECT_TRUE(got != 100000 && got != 107000 && got != 207000, "%s->%s kind %d: got %d", names[from], names[to], kind, got);
        EXPECT_TRUE(got != 0 || waited != 0 || copied, "%s->%s kind %d: success without data", names[from], names[to], kind);
    } else {
        EXPECT_TRUE(got == want, "%s->%s kind %d: got %d, expected %d", names[from], names[to], kind, got, want);
        EXPECT_TRUE(waited == 0, "%s->%s kind %d: synchronise gave %d", names[from], names[to], kind, waited);
        EXPECT_TRUE(want == 0 ? copied : untouched, "%s->%s kind %d: the destination is wrong", names[from], names[to], kind);
    }
    free(bytes);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *sources[PLACES] = {(uint8_t *)pinned_memory(SIZE), (uint8_t *)device_memory(SIZE), (uint8_t *)pageable_memory(SIZE)};
    uint8_t *targets[PLACES] = {(uint8_t *)pinned_memory(SIZE), (uint8_t *)device_memory(SIZE), (uint8_t *)pageable_memory(SIZE)};
    static const copy_call calls[] = {aclrtMemcpyAsync, aclrtMemcpyAsyncWithCondition};
    uint32_t seed = 1;
    for (int call = 0; call < 2; call++) {
        for (int from = 0; from < PLACES; from++) {
            for (int to = 0; to < PLACES; to++) {
                for (int kind = 0; kind < 8; kind++) {
                    aclrtStream on = seed % 2 == 0 ? NULL : stream; /* the default stream follows the same rules */
                    case_of(calls[call], (enum place)from, (enum place)to, sources[from], targets[to], kind, on, seed);
                    seed++;
                }
            }
        }
    }
    uint8_t *both[2][PLACES] = {{sources[H], sources[D], sources[U]}, {targets[H], targets[D], targets[U]}};
    for (int i = 0; i < 2; i++) {
        EXPECT_OK(aclrtFreeHost(both[i][H]));
        EXPECT_OK(aclrtFree(both[i][D]));
        free(both[i][U]);
    }
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
