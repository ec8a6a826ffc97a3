// soc: all
// softacl-only
// schedules: all
/* Operators that fill a tensor with one value, pad, concatenate, or copy a tensor unchanged. */
#include "call.h"

#define ROWS 4
#define COLUMNS 70

static int16_t *host;
static uint8_t *device;
static aclrtStream stream;

static Tensor tensor_at(size_t offset, int64_t rows, int64_t columns)
{
    int64_t dims[] = {rows, columns};
    return tensor(ACL_INT16, 2, dims, device + offset * 2, (size_t)(rows * columns) * 2);
}

/* Copies elements to the host and compares each with the expected value. */
static void expect_elements(size_t offset, int count, int (*expected)(int))
{
    EXPECT_OK(aclrtMemcpyAsync(host, (size_t)count * 2, device + offset * 2, (size_t)count * 2,
                               ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    for (int i = 0; i < count; i++) {
        EXPECT_TRUE(host[i] == expected(i), "element %d is %d, not %d", i, host[i], expected(i));
    }
}

static int zero(int i) { (void)i; return 0; }
static int one(int i) { (void)i; return 1; }
static int five(int i) { (void)i; return 5; }
static int index_value(int i) { return i; }

/* Expected result of concatenating two tensors of ROWS rows, with 30 and 40 columns. */
static int concatenated(int i)
{
    int row = i / COLUMNS, column = i % COLUMNS;
    return column < 30 ? row * 30 + column : ROWS * 30 + row * 40 + column - 30;
}

/* Expected result of padding 2 rows of 60 columns with 8: a row above and below, 3 columns before and 7 after. */
static int padded(int i)
{
    int row = i / COLUMNS - 1, column = i % COLUMNS - 3;
    return row >= 0 && row < 2 && column >= 0 && column < 60 ? row * 60 + column : 8;
}

/* Pads the elements at the start of the device memory, which hold their index. */
static void pad(size_t cells)
{
    int64_t paddings[] = {1, 1, 3, 7};
    int16_t value = 8;
    const char *modes[] = {"constant", "reflect"};
    for (int i = 0; i < 2; i++) {
        aclopAttr *attr = aclopCreateAttr();
        EXPECT_OK(aclopSetAttrString(attr, "mode", modes[i]));
        EXPECT_OK(aclopSetAttrBool(attr, "paddings_contiguous", 1));
        Tensor inputs[] = {tensor_at(0, 2, 60), host_int64_tensor(4, paddings), tensor(ACL_INT16, 0, NULL, &value, sizeof value)};
        EXPECT_OK(aclSetTensorPlaceMent(inputs[2].desc, ACL_MEMTYPE_HOST));
        aclError code = call_operator("PadV3", 3, inputs, tensor_at(cells, ROWS, COLUMNS), attr, stream);
        EXPECT_TRUE((code == ACL_SUCCESS) == (i == 0), "mode %s: %d", modes[i], code);
        aclopDestroyAttr(attr);
    }
    expect_elements(cells, (int)cells, padded);
    /* A value in device memory is read when the task runs. Element 8 holds 8. */
    int64_t single[] = {1};
    Tensor on_device[] = {tensor_at(0, 2, 60), host_int64_tensor(4, paddings), tensor(ACL_INT16, 1, single, device + 16, 2)};
    EXPECT_OK(aclrtMemsetAsync(device + cells * 2, cells * 2, 0, cells * 2, stream));
    EXPECT_OK(aclSetTensorPlaceMent(on_device[2].desc, ACL_MEMTYPE_DEVICE));
    EXPECT_OK(call_operator("PadV3", 3, on_device, tensor_at(cells, ROWS, COLUMNS), NULL, stream));
    expect_elements(cells, (int)cells, padded);
    paddings[0] = 0; /* three rows do not fill four */
    Tensor wrong[] = {tensor_at(0, 2, 60), host_int64_tensor(4, paddings), tensor(ACL_INT16, 0, NULL, &value, sizeof value)};
    EXPECT_OK(aclSetTensorPlaceMent(wrong[2].desc, ACL_MEMTYPE_HOST));
    EXPECT_FAILS(call_operator("PadV3", 3, wrong, tensor_at(cells, ROWS, COLUMNS), NULL, stream));
}

int main(void)
{
    const size_t cells = ROWS * COLUMNS;
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    host = (int16_t *)pinned_memory(cells * 2);
    device = (uint8_t *)device_memory(cells * 4);

    Tensor like = tensor_at(0, ROWS, COLUMNS);
    EXPECT_OK(call_operator("OnesLike", 1, &like, tensor_at(0, ROWS, COLUMNS), NULL, stream));
    expect_elements(0, (int)cells, one);
    like = tensor_at(0, 1, COLUMNS);
    EXPECT_OK(call_operator("ZerosLike", 1, &like, tensor_at(0, 1, COLUMNS), NULL, stream));
    expect_elements(0, COLUMNS, zero);
    expect_elements(COLUMNS, (int)cells - COLUMNS, one); /* no other element was written */

    int64_t dims[] = {ROWS, COLUMNS};
    int16_t value = 5;
    Tensor fill[] = {host_int64_tensor(2, dims), tensor(ACL_INT16, 0, NULL, &value, sizeof value)};
    EXPECT_OK(aclSetTensorPlaceMent(fill[1].desc, ACL_MEMTYPE_HOST));
    EXPECT_OK(call_operator("Fill", 2, fill, tensor_at(0, ROWS, COLUMNS), NULL, stream));
    value = 6; /* no effect: the call has read the value */
    expect_elements(0, (int)cells, five);

    for (size_t i = 0; i < cells; i++) {
        host[i] = (int16_t)i;
    }
    REQUIRE_OK(aclrtMemcpy(device, cells * 2, host, cells * 2, ACL_MEMCPY_HOST_TO_DEVICE));
    Tensor whole = tensor_at(0, ROWS, COLUMNS);
    EXPECT_OK(call_operator("TensorMove", 1, &whole, tensor_at(cells, ROWS, COLUMNS), NULL, stream));
    expect_elements(cells, (int)cells, index_value);

    pad(cells);

    aclopAttr *attr = aclopCreateAttr();
    EXPECT_OK(aclopSetAttrInt(attr, "concat_dim", 1));
    EXPECT_OK(aclopSetAttrInt(attr, "N", 2));
    Tensor inputs[] = {tensor_at(0, ROWS, 30), tensor_at(ROWS * 30, ROWS, 40)};
    EXPECT_OK(call_operator("ConcatD", 2, inputs, tensor_at(cells, ROWS, COLUMNS), attr, stream));
    expect_elements(cells, (int)cells, concatenated);
    EXPECT_OK(aclopSetAttrInt(attr, "concat_dim", 2));
    Tensor wrong[] = {tensor_at(0, ROWS, 30), tensor_at(ROWS * 30, ROWS, 40)};
    EXPECT_FAILS(call_operator("ConcatD", 2, wrong, tensor_at(cells, ROWS, COLUMNS), attr, stream));
    aclopDestroyAttr(attr);

    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(host));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
