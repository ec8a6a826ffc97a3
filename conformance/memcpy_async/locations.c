// soc: all
// schedules: all
/* The complete table of aclrtMemcpyAsync (1.2): three source locations, three destination locations, eight kinds. */
#include "../expect.h"

#define SIZE 4096

typedef aclError (*copy_call)(void *, size_t, const void *, size_t, aclrtMemcpyKind, aclrtStream);

enum location { H, D, U, LOCATIONS };

/* The result depends on the driver: no parameter error, not 207000, and correct data if it succeeds. */
#define DRIVER (-1)

static aclError expected(enum location source, enum location target, int kind)
{
    /* Rows of the table in 1.2; the columns are kinds 0 to 5. */
    static const aclError table[LOCATIONS][LOCATIONS][6] = {
        {   /* from H */
            {207000, 207000, 207000, 207000, 207000, 107000}, /* to H */
            {0, 0, 0, 0, 0, 0},                               /* to D */
            {207000, DRIVER, 107000, 107000, 207000, 107000}, /* to U */
        },
        {   /* from D */
            {0, 0, 0, 0, 0, 107000},                          /* to H */
            {0, 0, 0, 0, 0, 107000},                          /* to D */
            {107000, 107000, 0, DRIVER, 0, 107000},           /* to U; kind D2D is passed to the device unchanged */
        },
        {   /* from U */
            {207000, 107000, DRIVER, 107000, 207000, 107000}, /* to H */
            {107000, 0, 107000, DRIVER, 0, 0},                /* to D */
            {207000, DRIVER, DRIVER, DRIVER, 207000, 107000}, /* to U */
        },
    };
    return kind > 5 ? 100000 : table[source][target][kind];
}

/* H: pinned host memory, D: device memory, U: pageable (unregistered) host memory. */
static void check_case(copy_call copy, enum location from, enum location to, uint8_t *source, uint8_t *target, int kind,
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
        EXPECT_TRUE(got != 100000 && got != 107000 && got != 207000, "%s->%s kind %d: got %d", names[from], names[to],
                    kind, got);
        EXPECT_TRUE(got != 0 || waited != 0 || copied, "%s->%s kind %d: success without data", names[from], names[to],
                    kind);
    } else {
        EXPECT_TRUE(got == want, "%s->%s kind %d: got %d, expected %d", names[from], names[to], kind, got, want);
        EXPECT_TRUE(waited == 0, "%s->%s kind %d: synchronize returned %d", names[from], names[to], kind, waited);
        EXPECT_TRUE(want == 0 ? copied : untouched, "%s->%s kind %d: the destination is wrong", names[from], names[to],
                    kind);
    }
    free(bytes);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *sources[LOCATIONS] = {(uint8_t *)pinned_memory(SIZE), (uint8_t *)device_memory(SIZE),
                                   (uint8_t *)pageable_memory(SIZE)};
    uint8_t *targets[LOCATIONS] = {(uint8_t *)pinned_memory(SIZE), (uint8_t *)device_memory(SIZE),
                                   (uint8_t *)pageable_memory(SIZE)};
    static const copy_call calls[] = {aclrtMemcpyAsync, aclrtMemcpyAsyncWithCondition};
    uint32_t seed = 1;
    for (int call = 0; call < 2; call++) {
        for (int from = 0; from < LOCATIONS; from++) {
            for (int to = 0; to < LOCATIONS; to++) {
                for (int kind = 0; kind < 8; kind++) {
                    /* the rules apply to the default stream too */
                    aclrtStream target_stream = seed % 2 == 0 ? NULL : stream;
                    check_case(calls[call], (enum location)from, (enum location)to, sources[from], targets[to], kind,
                               target_stream, seed);
                    seed++;
                }
            }
        }
    }
    uint8_t *both[2][LOCATIONS] = {{sources[H], sources[D], sources[U]}, {targets[H], targets[D], targets[U]}};
    for (int i = 0; i < 2; i++) {
        EXPECT_OK(aclrtFreeHost(both[i][H]));
        EXPECT_OK(aclrtFree(both[i][D]));
        free(both[i][U]);
    }
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
