// softacl-only
// sanitize: address (the library orders the kernel and the host; the thread sanitizer does not see into it)
// schedules: all
/* Kernels of a binary run their CPU version, whichever way their arguments are passed. */
#include "../expect.h"
#include <softacl/kernel.h>

#define CELLS 1000
#define BLOCKS 7

/* cells[i] = cells[i] * factor + table[i % 4]; the table is data that is passed with the arguments, or NULL. */
struct arguments {
    uint32_t *cells;
    uint32_t count, factor;
    const uint32_t *table;
};

static int scale_run(const softaclLaunch *launch, uint32_t block)
{
    const struct arguments *a = (const struct arguments *)launch->arguments;
    uint32_t *cells = (uint32_t *)softaclView(launch, a->cells, a->count * 4);
    const uint32_t *table = (const uint32_t *)softaclView(launch, a->table, 16);
    if (launch->argumentsSize < sizeof *a || cells == NULL || (a->table != NULL && table == NULL)) {
        return 507035;
    }
    uint32_t per_block = (a->count + launch->blockCount - 1) / launch->blockCount;
    for (uint32_t i = block * per_block; i < a->count && i < (block + 1) * per_block; i++) {
        cells[i] = cells[i] * a->factor + (table == NULL ? 0 : table[i % 4]);
    }
    return 0;
}

static size_t scale_ranges(const softaclLaunch *launch, softaclRange *ranges, size_t capacity)
{
    const struct arguments *a = (const struct arguments *)launch->arguments;
    if (capacity > 0) {
        ranges[0].ptr = a->cells;
        ranges[0].size = a->count * 4;
        ranges[0].access = SOFTACL_READ | SOFTACL_WRITE;
    }
    return 1;
}

static const uint32_t scale_sizes[] = {8, 4, 4, 8};
static const softaclKernel kernels[] = {
    {"scale", 77, scale_run, scale_ranges, scale_sizes, 4},
    /* A kernel is also found by the address of an exported function of its name, its stub. Any function will do. */
    {"getenv", 79, scale_run, scale_ranges, scale_sizes, 4},
};

static uint32_t expected[CELLS];

static void expect_cells(aclrtStream stream, uint32_t *device, uint32_t factor, const uint32_t *table, const char *how)
{
    static uint32_t cells[CELLS];
    REQUIRE_OK(aclrtSynchronizeStream(stream));
    REQUIRE_OK(aclrtMemcpy(cells, sizeof cells, device, sizeof cells, ACL_MEMCPY_DEVICE_TO_HOST));
    int wrong = 0;
    for (int i = 0; i < CELLS; i++) {
        expected[i] = expected[i] * factor + (table == NULL ? 0 : table[i % 4]);
        wrong += cells[i] != expected[i];
    }
    EXPECT_TRUE(wrong == 0, "%s: %d of %d cells are wrong", how, wrong, CELLS);
}

static void with_device_arguments(aclrtFuncHandle function, aclrtStream stream, uint32_t *device)
{
    struct arguments *memory = (struct arguments *)device_memory(sizeof *memory);
    struct arguments a = {device, CELLS, 3, NULL};
    REQUIRE_OK(aclrtMemcpy(memory, sizeof a, &a, sizeof a, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_OK(aclrtLaunchKernel(function, BLOCKS, memory, sizeof a, stream));
    expect_cells(stream, device, 3, NULL, "device arguments");
    EXPECT_OK(aclrtLaunchKernelV2(function, 1, memory, sizeof a, NULL, stream));
    expect_cells(stream, device, 3, NULL, "device arguments, one block");
    EXPECT_FAILS(aclrtLaunchKernel(function, 0, memory, sizeof a, stream));
    EXPECT_FAILS(aclrtLaunchKernel(function, 1, NULL, sizeof a, stream));
    REQUIRE_OK(aclrtFree(memory));
}

static void with_host_arguments(aclrtFuncHandle function, aclrtStream stream, uint32_t *device)
{
    struct {
        struct arguments a;
        uint32_t table[4];
    } block = {{device, CELLS, 5, NULL}, {1, 2, 3, 4}};
    aclrtPlaceHolderInfo place = {offsetof(struct arguments, table), sizeof block.a};
    EXPECT_OK(aclrtLaunchKernelWithHostArgs(function, BLOCKS, stream, NULL, &block, sizeof block, &place, 1));
    const uint32_t table[4] = {1, 2, 3, 4};
    memset(&block, 0xff, sizeof block); /* copied by the call */
    expect_cells(stream, device, 5, table, "host arguments");
    block.a = (struct arguments){device, CELLS, 7, NULL};
    EXPECT_OK(aclrtLaunchKernelWithHostArgs(function, BLOCKS, stream, NULL, &block.a, sizeof block.a, NULL, 0));
    expect_cells(stream, device, 7, NULL, "host arguments without placeholder");
    place.dataOffset = sizeof block;
    EXPECT_FAILS(aclrtLaunchKernelWithHostArgs(function, BLOCKS, stream, NULL, &block, sizeof block, &place, 1));
    place = (aclrtPlaceHolderInfo){4, 0};
    EXPECT_FAILS(aclrtLaunchKernelWithHostArgs(function, BLOCKS, stream, NULL, &block, sizeof block, &place, 1));
    EXPECT_FAILS(aclrtLaunchKernelWithHostArgs(function, BLOCKS, stream, NULL, NULL, 8, NULL, 0));
}

static void append_all(aclrtArgsHandle list, uint32_t *device, uint32_t factor, aclrtParamHandle *factor_handle,
                       void **table)
{
    aclrtParamHandle handle = NULL;
    uint32_t count = CELLS;
    REQUIRE_OK(aclrtKernelArgsAppend(list, &device, sizeof device, &handle));
    REQUIRE_OK(aclrtKernelArgsAppend(list, &count, sizeof count, &handle));
    REQUIRE_OK(aclrtKernelArgsAppend(list, &factor, sizeof factor, factor_handle));
    REQUIRE_OK(aclrtKernelArgsAppendPlaceHolder(list, &handle));
    REQUIRE_OK(aclrtKernelArgsGetPlaceHolderBuffer(list, handle, 16, table));
}

static void with_argument_list(aclrtFuncHandle function, aclrtStream stream, uint32_t *device)
{
    const uint32_t values[4] = {9, 8, 7, 6};
    aclrtArgsHandle list = NULL;
    aclrtParamHandle factor = NULL, more = NULL;
    void *table = NULL;
    REQUIRE_OK(aclrtKernelArgsInit(function, &list));
    append_all(list, device, 2, &factor, &table);
    EXPECT_FAILS(aclrtLaunchKernelWithConfig(function, BLOCKS, stream, NULL, list, NULL)); /* not finalized */
    memcpy(table, values, sizeof values);
    EXPECT_OK(aclrtKernelArgsFinalize(list));
    EXPECT_FAILS(aclrtKernelArgsAppend(list, &list, 8, &more));
    EXPECT_OK(aclrtLaunchKernelWithConfig(function, BLOCKS, stream, NULL, list, NULL));
    expect_cells(stream, device, 2, values, "argument list");
    uint32_t updated = 11;
    EXPECT_OK(aclrtKernelArgsParaUpdate(list, factor, &updated, sizeof updated));
    EXPECT_OK(aclrtLaunchKernelWithConfig(function, BLOCKS, stream, NULL, list, NULL));
    expect_cells(stream, device, 11, values, "updated argument list");

    size_t handle_size = 0, data_size = 0;
    REQUIRE_OK(aclrtKernelArgsGetHandleMemSize(function, &handle_size));
    REQUIRE_OK(aclrtKernelArgsGetMemSize(function, 40, &data_size));
    EXPECT_TRUE(handle_size > 0 && data_size >= 40, "%zu and %zu bytes", handle_size, data_size);
    void *own = malloc(handle_size), *data = malloc(data_size);
    REQUIRE_OK(aclrtKernelArgsInitByUserMem(function, own, data, data_size));
    append_all(own, device, 13, &factor, &table);
    memcpy(table, values, sizeof values);
    EXPECT_OK(aclrtKernelArgsFinalize(own));
    EXPECT_OK(aclrtLaunchKernelWithConfig(function, BLOCKS, stream, NULL, own, NULL));
    expect_cells(stream, device, 13, values, "argument list in memory of the program");
    free(own);
    free(data);
}

static void with_array(aclrtFuncHandle function, aclrtStream stream, uint32_t *device)
{
    uint32_t count = CELLS, factor = 17;
    const uint32_t *table = NULL;
    void *arguments[4] = {&device, &count, &factor, &table};
    EXPECT_OK(aclrtLaunchKernelWithArgsArray(function, BLOCKS, stream, NULL, arguments));
    expect_cells(stream, device, 17, NULL, "array of arguments");
    size_t parameters = 0, offset = 0, size = 0;
    EXPECT_OK(aclrtFunctionGetParamCount(function, &parameters));
    EXPECT_OK(aclrtFunctionGetParamInfo(function, 2, &offset, &size));
    EXPECT_TRUE(parameters == 4 && offset == 12 && size == 4, "%zu parameters, %zu bytes at %zu", parameters, size, offset);
    EXPECT_FAILS(aclrtFunctionGetParamInfo(function, 4, &offset, &size));
}

/* Other ways to a function: a binary in two steps, a kernel of the CPU by name, and the symbol of a stub. */
static void with_other_handles(aclrtStream stream, uint32_t *device)
{
    static const char code[] = "machine code";
    struct arguments a = {device, CELLS, 19, NULL};
    aclrtFuncHandle function = NULL;
    aclrtBinHandle loaded = NULL;
    aclrtBinary binary = aclrtCreateBinary(code, sizeof code);
    REQUIRE_TRUE(binary != NULL, "no binary");
    EXPECT_TRUE(aclrtCreateBinary(NULL, 8) == NULL && aclrtCreateBinary(code, 0) == NULL, "a binary without data");
    EXPECT_OK(aclrtBinaryLoad(binary, &loaded));
    EXPECT_OK(aclrtDestroyBinary(binary));
    EXPECT_FAILS(aclrtBinaryLoad(binary, &loaded));

    EXPECT_OK(aclrtBinaryGetFunction(loaded, "scale", &function));
    EXPECT_OK(aclrtLaunchKernelWithHostArgs(function, BLOCKS, stream, NULL, &a, sizeof a, NULL, 0));
    expect_cells(stream, device, 19, NULL, "binary in two steps");
    EXPECT_OK(aclrtRegisterCpuFunc(loaded, "RunCpuKernel", "scale", &function));
    EXPECT_OK(aclrtLaunchKernelWithHostArgs(function, BLOCKS, stream, NULL, &a, sizeof a, NULL, 0));
    expect_cells(stream, device, 19, NULL, "function of a CPU kernel");
    EXPECT_CODE(aclrtRegisterCpuFunc(loaded, "RunCpuKernel", "absent", &function), 207000);
    EXPECT_OK(aclrtBinaryUnLoad(loaded));
    EXPECT_FAILS(aclrtRegisterCpuFunc(loaded, "RunCpuKernel", "scale", &function));

    EXPECT_OK(aclrtGetFuncBySymbol((const void *)getenv, &function));
    EXPECT_OK(aclrtLaunchKernelWithHostArgs(function, BLOCKS, stream, NULL, &a, sizeof a, NULL, 0));
    expect_cells(stream, device, 19, NULL, "function of a symbol");
    EXPECT_FAILS(aclrtGetFuncBySymbol(code, &function)); /* not exported */
    EXPECT_CODE(aclrtGetFuncBySymbol((const void *)getpid, &function), 207000);
}

int main(void)
{
    static const char code[] = "machine code";
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint32_t *device = (uint32_t *)device_memory(CELLS * 4);
    for (int i = 0; i < CELLS; i++) {
        expected[i] = (uint32_t)i;
    }
    REQUIRE_OK(aclrtMemcpy(device, CELLS * 4, expected, CELLS * 4, ACL_MEMCPY_HOST_TO_DEVICE));
    aclrtBinHandle binary = NULL, same = NULL;
    aclrtFuncHandle function = NULL, again = NULL;
    REQUIRE_OK(aclrtBinaryLoadFromData(code, sizeof code, NULL, &binary));
    EXPECT_CODE(aclrtBinaryGetFunction(binary, "scale", &function), 207000);
    const char *message = aclGetRecentErrMsg();
    EXPECT_TRUE(message != NULL && strstr(message, "kernel scale has no CPU version") != NULL, "%s",
                message == NULL ? "no message" : message);
    REQUIRE_OK(softaclRegisterKernels(kernels, 2));
    REQUIRE_OK(aclrtBinaryGetFunction(binary, "scale", &function));
    EXPECT_OK(aclrtBinaryGetFunctionByEntry(binary, 77, &again));
    EXPECT_CODE(aclrtBinaryGetFunctionByEntry(binary, 78, &again), 207000);
    char name[8];
    EXPECT_OK(aclrtGetFunctionName(function, sizeof name, name));
    EXPECT_TRUE(strcmp(name, "scale") == 0, "%s", name);
    EXPECT_FAILS(aclrtGetFunctionName(function, 5, name));
    EXPECT_OK(aclrtFunctionGetBinary(function, &same));
    EXPECT_TRUE(same == binary, "%p is not %p", same, binary);
    with_device_arguments(function, stream, device);
    with_host_arguments(function, stream, device);
    with_argument_list(function, stream, device);
    with_array(function, stream, device);
    with_other_handles(stream, device);
    EXPECT_FAILS(aclrtLaunchKernelWithHostArgs(binary, 1, stream, NULL, name, 8, NULL, 0));
    EXPECT_OK(aclrtBinaryUnLoad(binary));
    EXPECT_FAILS(aclrtBinaryUnLoad(binary));
    EXPECT_FAILS(aclrtLaunchKernelWithHostArgs(function, 1, stream, NULL, name, 8, NULL, 0));
    EXPECT_FAILS(aclrtBinaryLoadFromFile("/nonexistent/kernel.o", NULL, &binary));
    EXPECT_FAILS(aclrtBinaryLoadFromFile("/dev/zero", NULL, &binary));
    EXPECT_FAILS(aclrtBinaryLoadFromData(NULL, 8, NULL, &binary));
    REQUIRE_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtFree(device));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
