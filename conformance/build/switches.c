// soc: Ascend910B Ascend950
// schedules: all
/* aclrtActiveStream starts another stream of the graph beside the current one; aclrtSwitchStream jumps to one if a
 * comparison of two values in device memory holds, and the current stream ends there. */
#include "../expect.h"
#include "build.h"

#define LOOPS 20

static uint8_t *left, *right, *result;

static void write_long(void *device, int64_t value)
{
    REQUIRE_OK(aclrtMemcpy(device, 8, &value, 8, ACL_MEMCPY_HOST_TO_DEVICE));
}

static int64_t read_long(const void *device)
{
    int64_t value = 0;
    REQUIRE_OK(aclrtMemcpy(&value, 8, device, 8, ACL_MEMCPY_DEVICE_TO_HOST));
    return value;
}

/* Jumps to one of two streams, and returns which of them wrote the result: 1 or 2; 3 if the first one continued. */
static int64_t chosen(aclrtCondition condition, aclrtCompareDataType type, int with_false)
{
    aclmdlRI graph = NULL;
    REQUIRE_OK(aclmdlRIBuildBegin(&graph, 0));
    aclrtStream stream = bound_stream(graph, BIND_HEAD), yes = bound_stream(graph, BIND_DEFAULT);
    aclrtStream no = bound_stream(graph, BIND_DEFAULT);
    EXPECT_OK(aclrtSwitchStream(left, condition, right, type, yes, with_false ? no : NULL, stream));
    EXPECT_OK(aclrtMemsetAsync(result, 8, 3, 1, stream)); /* does not run after a jump */
    EXPECT_OK(aclrtMemsetAsync(result, 8, 1, 1, yes));
    EXPECT_OK(aclrtMemsetAsync(result, 8, 2, 1, no));
    REQUIRE_OK(aclmdlRIBuildEnd(graph, NULL));
    write_long(result, 0);
    EXPECT_OK(aclmdlRIExecute(graph, -1));
    release_stream(graph, stream);
    release_stream(graph, yes);
    release_stream(graph, no);
    EXPECT_OK(aclmdlRIDestroy(graph));
    return read_long(result);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    left = (uint8_t *)device_memory(8);
    right = (uint8_t *)device_memory(8);
    result = (uint8_t *)device_memory(8);
    uint8_t *one = (uint8_t *)device_memory(8), *count = (uint8_t *)device_memory(8);

    static const int64_t pairs[][2] = {{1, 2}, {2, 2}, {3, 2}, {-1, 1}};
    for (int i = 0; i < 4; i++) {
        int64_t a = pairs[i][0], b = pairs[i][1];
        const int holds[] = {a == b, a != b, a > b, a >= b, a < b, a <= b};
        write_long(left, a);
        write_long(right, b);
        for (int condition = 0; condition < 6; condition++) {
            aclrtCompareDataType type = condition % 2 == 0 ? ACL_RT_SWITCH_INT32 : ACL_RT_SWITCH_INT64;
            int64_t with = chosen((aclrtCondition)condition, type, 1), without = chosen((aclrtCondition)condition, type, 0);
            EXPECT_TRUE(with == (holds[condition] ? 1 : 2), "pair %d, condition %d: %d", i, condition, (int)with);
            EXPECT_TRUE(without == (holds[condition] ? 1 : 3), "pair %d, condition %d: %d", i, condition, (int)without);
        }
    }
    /* Four bytes or eight: the upper half counts only for INT64. */
    write_long(left, 1);
    write_long(right, 1 + (1LL << 32));
    EXPECT_TRUE(chosen(ACL_RT_EQUAL, ACL_RT_SWITCH_INT32, 1) == 1, "compares four bytes");
    EXPECT_TRUE(chosen(ACL_RT_EQUAL, ACL_RT_SWITCH_INT64, 1) == 2, "compares eight bytes");

    /* A loop of two streams that activate each other. */
    aclmdlRI graph = NULL;
    write_long(one, 1);
    write_long(right, LOOPS);
    REQUIRE_OK(aclmdlRIBuildBegin(&graph, 0));
    aclrtStream start = bound_stream(graph, BIND_HEAD), body = bound_stream(graph, BIND_DEFAULT);
    aclrtStream test = bound_stream(graph, BIND_DEFAULT), unused = bound_stream(graph, BIND_DEFAULT);
    EXPECT_OK(aclrtMemsetAsync(left, 8, 0, 8, start));
    EXPECT_OK(aclrtMemsetAsync(count, 8, 0, 8, start));
    EXPECT_OK(aclrtActiveStream(body, start));
    EXPECT_OK(aclrtReduceAsync(left, one, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_INT32, body, NULL));
    EXPECT_OK(aclrtReduceAsync(count, one, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_INT32, body, NULL));
    EXPECT_OK(aclrtActiveStream(test, body));
    EXPECT_OK(aclrtSwitchStream(left, ACL_RT_LESS, right, ACL_RT_SWITCH_INT64, body, NULL, test));
    EXPECT_OK(aclrtReduceAsync(count, one, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_INT32, test, NULL)); /* at the end */
    EXPECT_OK(aclrtMemsetAsync(count, 8, 0xff, 8, unused)); /* never activated */
    REQUIRE_OK(aclmdlRIBuildEnd(graph, NULL));
    for (int run = 0; run < 3; run++) {
        EXPECT_OK(aclmdlRIExecute(graph, -1));
        EXPECT_TRUE(read_long(left) == LOOPS && read_long(count) == LOOPS + 1, "%d", (int)read_long(count));
    }
    release_stream(graph, start);
    release_stream(graph, body);
    release_stream(graph, test);
    release_stream(graph, unused);
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtFree(left));
    EXPECT_OK(aclrtFree(right));
    EXPECT_OK(aclrtFree(result));
    EXPECT_OK(aclrtFree(one));
    EXPECT_OK(aclrtFree(count));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
