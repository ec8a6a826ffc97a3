// soc: all
// softacl-only
// schedules: all
/* Operators that copy between layouts: Transpose, Slice, StridedSlice, AsStrided and ViewCopy. */
#include "call.h"

#define ROWS 12
#define COLUMNS 20
#define CELLS (ROWS * COLUMNS)

static int32_t *host;
static int32_t *device_in;
static int32_t *device_out;
static aclrtStream stream;

static Tensor input(void)
{
    int64_t dims[] = {ROWS, COLUMNS};
    return tensor(ACL_INT32, 2, dims, device_in, CELLS * 4);
}

static Tensor output(int64_t rows, int64_t columns)
{
    int64_t dims[] = {rows, columns};
    return tensor(ACL_INT32, 2, dims, device_out, (size_t)(rows * columns) * 4);
}

/* Element i of the input is i. Compares the output with row * a + column * b + c. */
static void expect_plane(int rows, int columns, int a, int b, int c)
{
    EXPECT_OK(aclrtMemcpyAsync(host, CELLS * 4, device_out, (size_t)(rows * columns) * 4, ACL_MEMCPY_DEVICE_TO_HOST,
                               stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    for (int i = 0; i < rows * columns; i++) {
        int expected = i / columns * a + i % columns * b + c;
        EXPECT_TRUE(host[i] == expected, "element %d is %d, not %d", i, host[i], expected);
    }
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    host = (int32_t *)pinned_memory(CELLS * 4);
    device_in = (int32_t *)device_memory(CELLS * 4);
    device_out = (int32_t *)device_memory(CELLS * 4);
    for (int i = 0; i < CELLS; i++) {
        host[i] = i;
    }
    REQUIRE_OK(aclrtMemcpy(device_in, CELLS * 4, host, CELLS * 4, ACL_MEMCPY_HOST_TO_DEVICE));

    int64_t order[] = {1, 0};
    Tensor transposed[] = {input(), host_int64_tensor(2, order)};
    EXPECT_OK(call_operator("Transpose", 2, transposed, output(COLUMNS, ROWS), NULL, stream));
    expect_plane(COLUMNS, ROWS, 1, COLUMNS, 0);

    int64_t slice_begin[] = {3, 5}, size[] = {4, 6};
    Tensor slice[] = {input(), host_int64_tensor(2, slice_begin), host_int64_tensor(2, size)};
    EXPECT_OK(call_operator("Slice", 3, slice, output(4, 6), NULL, stream));
    expect_plane(4, 6, COLUMNS, 1, 3 * COLUMNS + 5);

    int64_t begin[] = {1, 2}, end[] = {ROWS, COLUMNS}, step[] = {2, 3};
    Tensor steps[] = {input(), host_int64_tensor(2, begin), host_int64_tensor(2, end), host_int64_tensor(2, step)};
    EXPECT_OK(call_operator("StridedSlice", 4, steps, output(6, 6), NULL, stream));
    expect_plane(6, 6, 2 * COLUMNS, 3, COLUMNS + 2);

    /* A single row, whose dimension shrink_axis_mask removes. */
    int64_t row_end[] = {4, COLUMNS}, row_begin[] = {3, 2};
    aclopAttr *attr = aclopCreateAttr();
    EXPECT_OK(aclopSetAttrInt(attr, "shrink_axis_mask", 1));
    EXPECT_OK(aclopSetAttrInt(attr, "end_mask", 2));
    Tensor row[] = {input(), host_int64_tensor(2, row_begin), host_int64_tensor(2, row_end),
                    host_int64_tensor(2, step)};
    int64_t row_length[] = {6};
    EXPECT_OK(call_operator("StridedSlice", 4, row, tensor(ACL_INT32, 1, row_length, device_out, 24), attr, stream));
    aclopDestroyAttr(attr);
    expect_plane(1, 6, 0, 3, 3 * COLUMNS + 2);

    int64_t shape[] = {5, 3}, stride[] = {7, 11}, offset[] = {4};
    Tensor view[] = {input(), host_int64_tensor(2, shape), host_int64_tensor(2, stride), host_int64_tensor(1, offset)};
    EXPECT_OK(call_operator("AsStrided", 4, view, output(5, 3), NULL, stream));
    expect_plane(5, 3, 7, 11, 4);

    /* Copy into a view: columns outside it are unchanged. */
    REQUIRE_OK(aclrtMemset(device_out, CELLS * 4, 0xff, CELLS * 4));
    int64_t columns[] = {ROWS, 2}, to_stride[] = {COLUMNS, 5}, to_offset[] = {6};
    int64_t from_stride[] = {COLUMNS, 1}, from_offset[] = {8};
    Tensor target = output(ROWS, COLUMNS);
    Tensor copy[] = {output(ROWS, COLUMNS),
                     host_int64_tensor(2, columns),
                     host_int64_tensor(2, to_stride),
                     host_int64_tensor(1, to_offset),
                     input(),
                     host_int64_tensor(2, columns),
                     host_int64_tensor(2, from_stride),
                     host_int64_tensor(1, from_offset)};
    EXPECT_OK(call_operator("ViewCopy", 8, copy, target, NULL, stream));
    EXPECT_OK(aclrtMemcpyAsync(host, CELLS * 4, device_out, CELLS * 4, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    for (int i = 0; i < CELLS; i++) {
        int column = i % COLUMNS;
        int expected = column == 6 ? i + 2 : column == 11 ? i - 2 : -1;
        EXPECT_TRUE(host[i] == expected, "element %d is %d, not %d", i, host[i], expected);
    }

    EXPECT_OK(aclrtFree(device_in));
    EXPECT_OK(aclrtFree(device_out));
    EXPECT_OK(aclrtFreeHost(host));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
