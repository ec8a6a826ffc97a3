// soc: all
/* Random numbers (A2, A3): a task of the stream fills device memory with numbers of a distribution. */
#include "../expect.h"

#define COUNT 8192

static aclrtRandomParaInfo value_of(const void *value, uint8_t size)
{
    aclrtRandomParaInfo info;
    memset(&info, 0, sizeof info);
    memcpy(info.valueOrAddr, value, size);
    info.size = size;
    return info;
}

static aclrtRandomParaInfo number(uint64_t value)
{
    return value_of(&value, 8);
}

static aclrtRandomParaInfo real(float value)
{
    return value_of(&value, 4);
}

static aclrtRandomParaInfo in_memory(void *address, uint8_t size)
{
    aclrtRandomParaInfo info = number((uint64_t)(uintptr_t)address);
    info.isAddr = 1;
    info.size = size;
    return info;
}

static aclrtRandomNumTaskInfo task(aclrtRandomNumFuncType function, float first, float second, void *result)
{
    aclrtRandomNumTaskInfo info;
    memset(&info, 0, sizeof info);
    info.dataType = ACL_FLOAT;
    info.randomNumFuncParaInfo.funcType = function;
    info.randomNumFuncParaInfo.paramInfo.uniformDisInfo.min = real(first);
    info.randomNumFuncParaInfo.paramInfo.uniformDisInfo.max = real(second);
    info.randomResultAddr = result;
    info.randomSeed = number(42);
    info.randomNum = number(COUNT);
    return info;
}

/* Runs a task and returns its results. */
static float *generate(const aclrtRandomNumTaskInfo *info, aclrtStream stream)
{
    REQUIRE_OK(aclrtRandomNumAsync(info, stream, NULL));
    REQUIRE_OK(aclrtSynchronizeStream(stream));
    return (float *)device_bytes(info->randomResultAddr, COUNT * sizeof(float));
}

static void expect_range(const float *all, float low, float high, const char *name)
{
    double sum = 0;
    for (int i = 0; i < COUNT; i++) {
        if (!(all[i] >= low && all[i] <= high)) {
            EXPECT_TRUE(0, "%s: number %d is %f", name, i, (double)all[i]);
            return;
        }
        sum += (double)all[i];
    }
    double mean = sum / COUNT, middle = ((double)low + (double)high) / 2;
    EXPECT_TRUE(mean > middle - 0.1 && mean < middle + 0.1, "%s: the mean is %f", name, mean);
}

static void check_distributions(aclrtStream stream, void *result)
{
    aclrtRandomNumTaskInfo info = task(ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS, 2, 3, result);
    float *all = generate(&info, stream);
    expect_range(all, 2, 3, "uniform");
    float *again = generate(&info, stream);
    EXPECT_TRUE(memcmp(all, again, COUNT * sizeof(float)) == 0, "one seed gives two sequences");
    free(again);
    info.randomSeed = number(43);
    again = generate(&info, stream);
    EXPECT_TRUE(memcmp(all, again, COUNT * sizeof(float)) != 0, "two seeds give one sequence");
    free(again);
    free(all);

    info = task(ACL_RT_RANDOM_NUM_FUNC_TYPE_TRUNCATED_NORMAL_DIS, 5, 0.5f, result);
    all = generate(&info, stream);
    expect_range(all, 4, 6, "truncated normal");
    free(all);
    info = task(ACL_RT_RANDOM_NUM_FUNC_TYPE_NORMAL_DIS, -1, 1, result);
    all = generate(&info, stream);
    expect_range(all, -7, 5, "normal");
    int far = 0;
    for (int i = 0; i < COUNT; i++) {
        far += all[i] < -3 || all[i] > 1;
    }
    EXPECT_TRUE(far > COUNT / 50 && far < COUNT / 12, "%d of %d beyond two deviations", far, COUNT);
    free(all);

    /* one bit for each element, set if it is kept */
    info = task(ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK, 0.25f, 0, result);
    REQUIRE_OK(aclrtMemset(result, COUNT * 4, 0, COUNT * 4));
    all = generate(&info, stream);
    int kept = 0;
    for (int i = 0; i < COUNT; i++) {
        kept += ((const uint8_t *)all)[i / 8] >> i % 8 & 1;
    }
    EXPECT_TRUE(kept > COUNT * 7 / 10 && kept < COUNT * 8 / 10, "%d of %d bits are set", kept, COUNT);
    EXPECT_TRUE(verify_value((const uint8_t *)all + COUNT / 8, 64, 0) == 64, "more than the mask was written");
    free(all);
}

/* A counter in device memory continues the sequence; parameters in device memory are read when the task runs. */
static void check_memory(aclrtStream stream, void *result)
{
    static struct gate gate = GATE_INITIALIZER;
    uint64_t *cells = (uint64_t *)device_memory(64), host[8] = {0};
    aclrtRandomNumTaskInfo info = task(ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS, 0, 1, result);
    REQUIRE_OK(aclrtMemset(cells, 64, 0, 64));
    info.randomCounterAddr = cells;
    float *all = generate(&info, stream), *next = generate(&info, stream);
    EXPECT_TRUE(memcmp(all, next, COUNT * sizeof(float)) != 0, "the counter has no effect");
    free(next);
    REQUIRE_OK(aclrtMemset(cells, 64, 0, 64));
    next = generate(&info, stream);
    EXPECT_TRUE(memcmp(all, next, COUNT * sizeof(float)) == 0, "the counter was not reset");
    free(next);
    free(all);

    float maximum = 9;
    host[2] = COUNT;
    memcpy(&host[3], &maximum, sizeof maximum);
    info.randomCounterAddr = NULL;
    info.randomNum = in_memory(cells + 2, 8);
    info.randomNumFuncParaInfo.paramInfo.uniformDisInfo.min = real(8);
    info.randomNumFuncParaInfo.paramInfo.uniformDisInfo.max = in_memory(cells + 3, 4);
    gate_close(&gate, stream);
    REQUIRE_OK(aclrtRandomNumAsync(&info, stream, NULL));
    REQUIRE_OK(aclrtMemcpy(cells, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE)); /* before the task runs */
    gate_open(&gate);
    REQUIRE_OK(aclrtSynchronizeStream(stream));
    all = (float *)device_bytes(result, COUNT * sizeof(float));
    expect_range(all, 8, 9, "parameters in memory");
    free(all);
    EXPECT_OK(aclrtFree(cells));
}

static void check_arguments(aclrtStream stream, void *result)
{
    aclrtRandomNumTaskInfo info = task(ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS, 0, 1, result);
    EXPECT_CODE(aclrtRandomNumAsync(NULL, stream, NULL), 100000);
    EXPECT_FAILS(aclrtRandomNumAsync(&info, stream, &info));
    EXPECT_CODE(aclrtRandomNumAsync(&info, stale_stream(), NULL), 107017);
    info.randomNum = number(COUNT + 1); /* more than the allocation */
    EXPECT_FAILS(aclrtRandomNumAsync(&info, stream, NULL));
    info.randomNum = number(0);
    EXPECT_FAILS(aclrtRandomNumAsync(&info, stream, NULL));
    info = task((aclrtRandomNumFuncType)4, 0, 1, result);
    EXPECT_FAILS(aclrtRandomNumAsync(&info, stream, NULL));
    info = task(ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS, 0, 1, &info);
    EXPECT_FAILS(aclrtRandomNumAsync(&info, stream, NULL)); /* host memory */
    info = task(ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS, 0, 1, NULL);
    EXPECT_FAILS(aclrtRandomNumAsync(&info, stream, NULL));
    info = task(ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS, 0, 1, result);
    info.dataType = ACL_STRING;
    EXPECT_FAILS(aclrtRandomNumAsync(&info, stream, NULL));
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    void *result = device_memory(COUNT * sizeof(float));
    if (family() == FAMILY_A2 || family() == FAMILY_A3) {
        check_distributions(stream, result);
        check_memory(stream, result);
        check_arguments(stream, result);
    } else {
        aclrtRandomNumTaskInfo info = task(ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS, 0, 1, result);
        EXPECT_CODE(aclrtRandomNumAsync(&info, stream, NULL), 207000);
    }
    EXPECT_OK(aclrtFree(result));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
