// soc: all
// softacl-only
// schedules: all
/* Operators that make tensors of one value, join tensors, or copy one as it is. */
#include "call.h"

#define ROWS 4
#define COLUMNS 70

static int16_t *host;
static uint8_t *device;
static aclrtStream stream;

static Tensor part(size_t offset, int64_t rows, int64_t columns)
{
    int64_t dims[] = {rows, columns};
    return tensor(ACL_INT16, 2, dims, device + offset * 2, (size_t)(rows * columns) * 2);
}

/* Fetches elements of the device and compares each with what it should be. */
static void expect_elements(size_t offset, int count, int (*expected)(int))
{
    EXPECT_OK(aclrtMemcpyAsync(host, (size_t)count * 2, device + offset * 2, (size_t)count * 2, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    for (int i = 0; i < count; i++) {
        EXPECT_TRUE(host[i] == expected(i), "element %d is %d, not %d", i, host[i], expected(i));
    }
}

static int zero(int i) { (void)i; return 0; }
static int one(int i) { (void)i; return 1; }
static int five(int i) { (void)i; return 5; }
static int number(int i) { return i; }

/* Two tensors of ROWS rows beside each other: the first has 30 columns, the second 40. */
static int joined(int i)
{
    int row = i / COLUMNS, column = i % COLUMNS;
    return column < 30 ? row * 30 + column : ROWS * 30 + row * 40 + column - 30;
}

int main(void)
{
    const size_t cells = ROWS * COLUMNS;
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    host = (int16_t *)pinned_memory(cells * 2);
    device = (uint8_t *)device_memory(cells * 4);

    Tensor like = part(0, ROWS, COLUMNS);
    EXPECT_OK(call_operator("OnesLike", 1, &like, part(0, ROWS, COLUMNS), NULL, stream));
    expect_elements(0, (int)cells, one);
    like = part(0, 1, COLUMNS);
    EXPECT_OK(call_operator("ZerosLike", 1, &like, part(0, 1, COLUMNS), NULL, stream));
    expect_elements(0, COLUMNS, zero);
    expect_elements(COLUMNS, (int)cells - COLUMNS, one); /* and nothing else was written */

    int64_t dims[] = {ROWS, COLUMNS};
    int16_t value = 5;
    Tensor fill[] = {host_int64_tensor(2, dims), tensor(ACL_INT16, 0, NULL, &value, sizeof value)};
    EXPECT_OK(aclSetTensorPlaceMent(fill[1].desc, ACL_MEMTYPE_HOST));
    EXPECT_OK(call_operator("Fill", 2, fill, part(0, ROWS, COLUMNS), NULL, stream));
    value = 6; /* was read by the call */
    expect_elements(0, (int)cells, five);

    for (size_t i = 0; i < cells; i++) {
        host[i] = (int16_t)i;
    }
    REQUIRE_OK(aclrtMemcpy(device, cells * 2, host, cells * 2, ACL_MEMCPY_HOST_TO_DEVICE));
    Tensor whole = part(0, ROWS, COLUMNS);
    EXPECT_OK(call_operator("TensorMove", 1, &whole, part(cells, ROWS, COLUMNS), NULL, stream));
    expect_elements(cells, (int)cells, number);

    aclopAttr *attr = aclopCreateAttr();
    EXPECT_OK(aclopSetAttrInt(attr, "concat_dim", 1));
    EXPECT_OK(aclopSetAttrInt(attr, "N", 2));
    Tensor beside[] = {part(0, ROWS, 30), part(ROWS * 30, ROWS, 40)};
    EXPECT_OK(call_operator("ConcatD", 2, beside, part(cells, ROWS, COLUMNS), attr, stream));
    expect_elements(cells, (int)cells, joined);
    EXPECT_OK(aclopSetAttrInt(attr, "concat_dim", 2));
    Tensor wrong[] = {part(0, ROWS, 30), part(ROWS * 30, ROWS, 40)};
    EXPECT_FAILS(call_operator("ConcatD", 2, wrong, part(cells, ROWS, COLUMNS), attr, stream));
    aclopDestroyAttr(attr);

    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(host));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
