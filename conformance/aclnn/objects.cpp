// soc: Ascend910B
// links: nnopbase
/* Objects of the operator interface: what they keep, who owns them, and handles that are not theirs (aclnn 2). */
#include "../expect.h"

#include "aclnn/aclnn_base.h"

#include <memory>
#include <thread>
#include <vector>

/* A query result: the program frees it with delete[]. */
struct Numbers {
    std::unique_ptr<int64_t[]> data;
    uint64_t count = 77;

    std::vector<int64_t> values() const { return std::vector<int64_t>(data.get(), data.get() + count); }
};

template <typename Query>
static std::vector<int64_t> numbers(Query query, const aclTensor *tensor)
{
    Numbers found;
    int64_t *array = nullptr;
    REQUIRE_OK(query(tensor, &array, &found.count));
    found.data.reset(array);
    return found.values();
}

static void tensors()
{
    int64_t dims[3] = {2, 3, 4}, strides[3] = {40, 1, 5}, storage[1] = {200};
    char memory[16];
    aclTensor *plain = aclCreateTensor(dims, 3, ACL_FLOAT16, nullptr, 0, ACL_FORMAT_ND, dims, 3, memory);
    aclTensor *view = aclCreateTensor(dims, 3, ACL_INT4, strides, 7, ACL_FORMAT_NCHW, storage, 1, nullptr);
    REQUIRE_TRUE(plain != nullptr && view != nullptr && plain != view, "two tensors");
    dims[0] = strides[0] = storage[0] = 99; /* copied */
    EXPECT_TRUE((numbers(aclGetViewShape, plain) == std::vector<int64_t>{2, 3, 4}), "dims");
    EXPECT_TRUE((numbers(aclGetViewStrides, plain) == std::vector<int64_t>{12, 4, 1}), "contiguous, in elements");
    EXPECT_TRUE((numbers(aclGetStorageShape, plain) == std::vector<int64_t>{2, 3, 4}), "storage");
    EXPECT_TRUE((numbers(aclGetViewStrides, view) == std::vector<int64_t>{40, 1, 5}), "strides");
    EXPECT_TRUE((numbers(aclGetStorageShape, view) == std::vector<int64_t>{200}), "storage of another rank");
    int64_t offset = -1;
    aclFormat format = ACL_FORMAT_UNDEFINED;
    aclDataType type = ACL_DT_UNDEFINED;
    void *address = nullptr;
    EXPECT_OK(aclGetViewOffset(view, &offset));
    EXPECT_OK(aclGetFormat(view, &format));
    EXPECT_OK(aclGetDataType(view, &type));
    EXPECT_OK(aclGetRawTensorAddr(plain, &address));
    EXPECT_TRUE(offset == 7 && format == ACL_FORMAT_NCHW && type == ACL_INT4 && address == memory, "%d", (int)offset);
    EXPECT_OK(aclSetRawTensorAddr(view, memory + 8));
    EXPECT_OK(aclGetRawTensorAddr(view, &address));
    EXPECT_TRUE(address == memory + 8, "the new address");

    /* A failed change changes nothing. */
    int64_t negative[1] = {-1}, one[1] = {6};
    EXPECT_CODE(aclInitTensor(view, negative, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, one, 1, nullptr), 161002);
    EXPECT_TRUE((numbers(aclGetViewStrides, view) == std::vector<int64_t>{40, 1, 5}), "unchanged");
    EXPECT_OK(aclInitTensor(view, one, 1, ACL_FLOAT, nullptr, 1, ACL_FORMAT_ND, one, 1, memory));
    EXPECT_TRUE((numbers(aclGetViewShape, view) == std::vector<int64_t>{6}), "changed");

    aclTensor *single = aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, memory);
    REQUIRE_TRUE(single != nullptr, "a tensor without dimensions");
    EXPECT_TRUE(numbers(aclGetViewShape, single).empty(), "no dimensions");

    EXPECT_TRUE(aclCreateTensor(negative, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, one, 1, memory) == nullptr, "negative");
    EXPECT_TRUE(aclCreateTensor(one, 1, ACL_FLOAT, negative, 0, ACL_FORMAT_ND, one, 1, memory) == nullptr, "stride");
    EXPECT_TRUE(aclCreateTensor(one, 1, ACL_FLOAT, nullptr, -1, ACL_FORMAT_ND, one, 1, memory) == nullptr, "offset");
    EXPECT_TRUE(aclCreateTensor(nullptr, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, one, 1, memory) == nullptr, "NULL");
    EXPECT_TRUE(aclCreateTensor(one, 1, (aclDataType)999, nullptr, 0, ACL_FORMAT_ND, one, 1, memory) == nullptr, "type");
    const char *message = aclGetRecentErrMsg();
    EXPECT_TRUE(message != nullptr && strstr(message, "999") != nullptr, "%s", message == nullptr ? "none" : message);
    EXPECT_OK(aclDestroyTensor(plain));
    EXPECT_OK(aclDestroyTensor(view));
    EXPECT_OK(aclDestroyTensor(single));
}

static void values_and_lists()
{
    float number = 1.5F;
    const float floats[2] = {1, 2};
    const bool flags[3] = {true, false, true};
    const int64_t integers[1] = {-5};
    uint64_t size = 77;
    aclScalar *first = aclCreateScalar(&number, ACL_FLOAT), *second = aclCreateScalar(&number, ACL_FLOAT);
    REQUIRE_TRUE(first != nullptr && second != nullptr, "scalars");
    EXPECT_TRUE(aclCreateScalar(nullptr, ACL_FLOAT) == nullptr && aclCreateScalar(&number, ACL_STRING) == nullptr, "bad");
    aclFloatArray *float_array = aclCreateFloatArray(floats, 2);
    aclBoolArray *bool_array = aclCreateBoolArray(flags, 3);
    aclIntArray *int_array = aclCreateIntArray(integers, 1), *empty = aclCreateIntArray(nullptr, 0);
    REQUIRE_TRUE(float_array != nullptr && bool_array != nullptr && int_array != nullptr && empty != nullptr, "arrays");
    EXPECT_OK(aclGetFloatArraySize(float_array, &size));
    EXPECT_TRUE(size == 2, "%d", (int)size);
    EXPECT_OK(aclGetBoolArraySize(bool_array, &size));
    EXPECT_TRUE(size == 3, "%d", (int)size);
    EXPECT_OK(aclGetIntArraySize(int_array, &size));
    EXPECT_TRUE(size == 1, "%d", (int)size);
    EXPECT_OK(aclGetIntArraySize(empty, &size));
    EXPECT_TRUE(size == 0, "%d", (int)size);

    /* A list owns its members. */
    const aclScalar *scalars[2] = {first, second};
    aclScalarList *scalar_list = aclCreateScalarList(scalars, 2);
    REQUIRE_TRUE(scalar_list != nullptr, "a list");
    EXPECT_OK(aclGetScalarListSize(scalar_list, &size));
    EXPECT_TRUE(size == 2, "%d", (int)size);
    EXPECT_OK(aclDestroyScalarList(scalar_list));
    EXPECT_CODE(aclDestroyScalar(first), 161002);
    EXPECT_CODE(aclDestroyScalarList(scalar_list), 161002);
    EXPECT_TRUE(aclCreateScalarList(scalars, 2) == nullptr, "a list of destroyed scalars");

    const int64_t dim[1] = {4};
    const aclTensor *tensors[2] = {aclCreateTensor(dim, 1, ACL_INT8, nullptr, 0, ACL_FORMAT_ND, dim, 1, nullptr),
                                   aclCreateTensor(dim, 1, ACL_INT8, nullptr, 0, ACL_FORMAT_ND, dim, 1, nullptr)};
    aclTensorList *tensor_list = aclCreateTensorList(tensors, 2);
    EXPECT_OK(aclGetTensorListSize(tensor_list, &size));
    EXPECT_TRUE(size == 2, "%d", (int)size);
    EXPECT_OK(aclDestroyTensorList(tensor_list));
    EXPECT_CODE(aclDestroyTensor(tensors[1]), 161002);
    EXPECT_OK(aclDestroyFloatArray(float_array));
    EXPECT_OK(aclDestroyBoolArray(bool_array));
    EXPECT_OK(aclDestroyIntArray(int_array));
    EXPECT_OK(aclDestroyIntArray(empty));
}

/* Stale, foreign and wild handles, NULL, and pointers that lead nowhere: errors, never a crash. */
static void wild()
{
    const int64_t dim[1] = {4};
    aclTensor *tensor = aclCreateTensor(dim, 1, ACL_INT8, nullptr, 0, ACL_FORMAT_ND, dim, 1, nullptr);
    aclIntArray *array = aclCreateIntArray(dim, 1);
    int64_t offset = 0, *result = nullptr;
    uint64_t size = 0;
    int local = 0;
    const uintptr_t stale = (uintptr_t)tensor;
    EXPECT_OK(aclDestroyTensor(tensor));
    const uintptr_t handles[] = {stale, 1, 8, (uintptr_t)&local, (uintptr_t)array, (uintptr_t)array + 1, UINTPTR_MAX,
                                 (uintptr_t)malloc, (uintptr_t)0xdeadbeefdeadbeef};
    for (uintptr_t handle : handles) {
        EXPECT_CODE(aclGetViewOffset((const aclTensor *)handle, &offset), 161002);
        EXPECT_CODE(aclGetViewShape((const aclTensor *)handle, &result, &size), 161002);
        EXPECT_CODE(aclSetRawTensorAddr((aclTensor *)handle, nullptr), 161002);
        EXPECT_CODE(aclDestroyTensor((const aclTensor *)handle), 161002);
        EXPECT_CODE(aclDestroyTensorList((const aclTensorList *)handle), 161002);
        EXPECT_CODE(aclDestroyScalar((const aclScalar *)handle), 161002);
        EXPECT_CODE(aclDestroyAclOpExecutor((aclOpExecutor *)handle), 161002);
        const aclTensor *members[1] = {(const aclTensor *)handle};
        EXPECT_TRUE(aclCreateTensorList(members, 1) == nullptr, "a list of %p", (const void *)handle);
    }
    EXPECT_CODE(aclGetViewOffset(nullptr, &offset), 161001);
    EXPECT_CODE(aclSetRawTensorAddr(nullptr, nullptr), 161001);
    EXPECT_CODE(aclGetIntArraySize(array, nullptr), 161001);
    EXPECT_OK(aclDestroyTensor(nullptr));
    EXPECT_OK(aclDestroyScalarList(nullptr));
    EXPECT_CODE(aclSetAclOpExecutorRepeatable(nullptr), 561103);
    EXPECT_CODE(aclSetTensorAddr((aclOpExecutor *)&local, 0, nullptr, nullptr), 561103);
    EXPECT_CODE(aclSetDynamicTensorAddr((aclOpExecutor *)&local, 0, 0, (aclTensorList *)&local, nullptr), 161002);

    EXPECT_CODE(aclGetIntArraySize(array, (uint64_t *)8), 161002);
    EXPECT_TRUE(aclCreateIntArray((const int64_t *)8, 1) == nullptr, "an array at 8");
    EXPECT_TRUE(aclCreateIntArray(dim, UINT64_MAX) == nullptr && aclCreateIntArray(dim, UINT64_MAX / 8) == nullptr, "size");
    EXPECT_TRUE(aclCreateTensor(dim, UINT64_MAX, ACL_INT8, nullptr, 0, ACL_FORMAT_ND, dim, 1, nullptr) == nullptr, "dims");
    EXPECT_TRUE(aclCreateScalar((void *)8, ACL_INT64) == nullptr, "a scalar at 8");
    EXPECT_OK(aclDestroyIntArray(array));
}

/* Objects may be created and destroyed on different threads. */
static void threads()
{
    std::vector<std::vector<aclTensor *>> made(4);
    const int64_t dim[1] = {4};
    auto create = [&](size_t i) {
        for (int n = 0; n < 1000; n++) {
            made[i].push_back(aclCreateTensor(dim, 1, ACL_INT8, nullptr, n, ACL_FORMAT_ND, dim, 1, nullptr));
        }
    };
    std::vector<std::thread> workers;
    for (size_t i = 0; i < made.size(); i++) {
        workers.emplace_back(create, i);
    }
    for (std::thread &worker : workers) {
        worker.join();
    }
    int wrong = 0;
    for (const std::vector<aclTensor *> &list : made) {
        for (size_t n = 0; n < list.size(); n++) {
            int64_t offset = -1;
            wrong += aclGetViewOffset(list[n], &offset) != 0 || offset != (int64_t)n || aclDestroyTensor(list[n]) != 0;
        }
    }
    EXPECT_TRUE(wrong == 0, "%d objects", wrong);
}

int main()
{
    EXPECT_OK(aclnnInit(nullptr));
    tensors();
    values_and_lists();
    wild();
    threads();
    EXPECT_CODE(aclnnInit("/no/such/file.json"), 161002);
    EXPECT_OK(aclnnFinalize());
    return finish();
}
