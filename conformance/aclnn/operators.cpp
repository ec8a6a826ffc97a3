// soc: Ascend910B
// schedules: all
// links: opapi nnopbase
/* Operators in two phases: results, lives of executors, errors of phase one, order in streams, capture (aclnn 2 to 4). */
#include "../expect.h"

#include "aclnn/aclnn_base.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_matmul.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_cat.h"
#include "aclnnop/aclnn_index_select.h"
#include "aclnnop/aclnn_softmax.h"
#include "aclnnop/aclnn_trans_matmul_weight.h"

#include <cmath>
#include <thread>
#include <vector>

static aclrtStream stream;

/* A float tensor on the device. */
struct Tensor {
    std::vector<int64_t> dims;
    void *data = nullptr;
    aclTensor *handle = nullptr;

    Tensor(std::vector<int64_t> shape, const std::vector<float> &values, aclDataType type = ACL_FLOAT) : dims(shape)
    {
        const size_t size = values.size() * sizeof(float) + 64;
        REQUIRE_OK(aclrtMalloc(&data, size, ACL_MEM_MALLOC_HUGE_FIRST));
        REQUIRE_OK(aclrtMemcpy(data, size, values.data(), values.size() * sizeof(float), ACL_MEMCPY_HOST_TO_DEVICE));
        handle = aclCreateTensor(dims.data(), dims.size(), type, nullptr, 0, ACL_FORMAT_ND, dims.data(), dims.size(), data);
        REQUIRE_TRUE(handle != nullptr, "a tensor");
    }
    Tensor(const Tensor &) = delete;
    ~Tensor()
    {
        EXPECT_OK(aclDestroyTensor(handle));
        EXPECT_OK(aclrtFree(data));
    }
    std::vector<float> read(size_t count) const
    {
        std::vector<float> values(count);
        EXPECT_OK(aclrtMemcpy(values.data(), count * 4, data, count * 4, ACL_MEMCPY_DEVICE_TO_HOST));
        return values;
    }
};

static void results()
{
    Tensor a({2, 3}, {1, 2, 3, 4, 5, 6}), b({3, 2}, {1, 0, 0, 1, 1, 1}), c({2, 2}, {0, 0, 0, 0});
    uint64_t size = 77;
    aclOpExecutor *executor = nullptr;
    EXPECT_OK(aclnnMatmulGetWorkspaceSize(a.handle, b.handle, c.handle, 0, &size, &executor));
    EXPECT_TRUE(size == 0 && executor != nullptr, "%d", (int)size);
    EXPECT_OK(aclnnMatmul(nullptr, size, executor, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE((c.read(4) == std::vector<float>{4, 5, 10, 11}), "a product");

    /* Objects may be destroyed as soon as phase two has returned. */
    float two = 2;
    aclScalar *alpha = aclCreateScalar(&two, ACL_FLOAT);
    aclTensor *view = nullptr;
    const int64_t dims[2] = {2, 2}, strides[2] = {1, 2};
    view = aclCreateTensor(dims, 2, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, dims, 2, c.data);
    Tensor out({2, 2}, {0, 0, 0, 0});
    EXPECT_OK(aclnnAddGetWorkspaceSize(c.handle, view, alpha, out.handle, &size, &executor));
    EXPECT_OK(aclDestroyScalar(alpha));
    EXPECT_OK(aclDestroyTensor(view));
    EXPECT_OK(aclnnAdd(nullptr, 0, executor, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE((out.read(4) == std::vector<float>{12, 25, 20, 33}), "c + 2 * transposed c");

    /* The default stream, and an executor that another thread uses. */
    EXPECT_OK(aclnnSoftmaxGetWorkspaceSize(c.handle, -1, out.handle, &size, &executor));
    aclrtContext context;
    EXPECT_OK(aclrtGetCurrentContext(&context));
    std::thread([&] {
        EXPECT_OK(aclrtSetCurrentContext(context));
        EXPECT_OK(aclnnSoftmax(nullptr, 0, executor, nullptr));
        EXPECT_OK(aclrtSynchronizeStream(nullptr));
    }).join();
    EXPECT_TRUE(std::fabs(out.read(4)[1] - 1 / (1 + std::exp(-1.0F))) < 1e-6, "%f", out.read(4)[1]);
}

/* Used, stale, foreign and wild executors; repeatable ones. */
static void executors()
{
    Tensor a({2}, {1, 2}), b({2}, {3, 4}), out({2}, {0, 0}), other({2}, {5, 6});
    uint64_t size;
    aclOpExecutor *executor = nullptr;
    EXPECT_OK(aclnnMulGetWorkspaceSize(a.handle, b.handle, out.handle, &size, &executor));
    EXPECT_CODE(aclnnMatmul(nullptr, 0, executor, stream), 161002); /* prepared for another operator */
    EXPECT_OK(aclnnMul(nullptr, 0, executor, stream));
    EXPECT_CODE(aclnnMul(nullptr, 0, executor, stream), 161002); /* used */
    EXPECT_CODE(aclDestroyAclOpExecutor(executor), 161002);
    EXPECT_CODE(aclnnMul(nullptr, 0, nullptr, stream), 161001);
    EXPECT_CODE(aclnnMul(nullptr, 0, (aclOpExecutor *)a.handle, stream), 161002);
    EXPECT_CODE(aclnnMul(nullptr, 0, (aclOpExecutor *)&size, stream), 161002);

    EXPECT_OK(aclnnMulGetWorkspaceSize(a.handle, b.handle, out.handle, &size, &executor));
    EXPECT_OK(aclSetAclOpExecutorRepeatable(executor));
    EXPECT_OK(aclnnMul(nullptr, 0, executor, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE((out.read(2) == std::vector<float>{3, 8}), "the first run");
    EXPECT_OK(aclSetInputTensorAddr(executor, 1, b.handle, other.data));
    EXPECT_OK(aclnnMul(nullptr, 0, executor, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE((out.read(2) == std::vector<float>{5, 12}), "with another input");
    EXPECT_OK(aclSetTensorAddr(executor, 2, out.handle, a.data));
    EXPECT_OK(aclSetOutputTensorAddr(executor, 0, out.handle, b.data));
    EXPECT_OK(aclnnMul(nullptr, 0, executor, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE((b.read(2) == std::vector<float>{5, 12}), "with another output");
    EXPECT_CODE(aclSetInputTensorAddr(executor, 2, b.handle, other.data), 161002);
    EXPECT_OK(AclSetTensorAddr(executor, 2, out.handle, b.data));
    EXPECT_CODE(aclSetTensorAddr(executor, 3, b.handle, other.data), 161002);
    EXPECT_CODE(aclSetTensorAddr(executor, 0, nullptr, other.data), 561103);
    EXPECT_CODE(aclSetDynamicInputTensorAddr(executor, 0, 0, (aclTensorList *)b.handle, other.data), 161002);
    EXPECT_OK(aclDestroyAclOpExecutor(executor));
    EXPECT_CODE(aclnnMul(nullptr, 0, executor, stream), 161002);
}

/* Phase one refuses with a code and a sentence. */
static void refusals()
{
    Tensor a({2, 3}, {1, 2, 3, 4, 5, 6}), b({2, 3}, {1, 2, 3, 4, 5, 6}), c({2, 2}, {0, 0, 0, 0});
    uint64_t size;
    aclOpExecutor *executor = nullptr;
    EXPECT_CODE(aclnnMulGetWorkspaceSize(nullptr, b.handle, c.handle, &size, &executor), 161001);
    EXPECT_CODE(aclnnMulGetWorkspaceSize(a.handle, b.handle, b.handle, nullptr, &executor), 161001);
    EXPECT_CODE(aclnnMulGetWorkspaceSize(a.handle, b.handle, b.handle, &size, nullptr), 161001);
    EXPECT_CODE(aclnnMulGetWorkspaceSize(a.handle, b.handle, c.handle, &size, &executor), 161002);
    EXPECT_CODE(aclnnMatmulGetWorkspaceSize(a.handle, b.handle, c.handle, 0, &size, &executor), 161002);
    const char *message = aclGetRecentErrMsg();
    EXPECT_TRUE(message != nullptr && strstr(message, "3 columns meet 2 rows") != nullptr, "%s", message ? message : "none");
    EXPECT_CODE(aclnnSoftmaxGetWorkspaceSize(a.handle, 2, b.handle, &size, &executor), 161002);
    EXPECT_CODE(aclnnMulGetWorkspaceSize(a.handle, b.handle, b.handle, (uint64_t *)8, &executor), 161002);
    EXPECT_CODE(aclnnMulGetWorkspaceSize((aclTensor *)&size, b.handle, b.handle, &size, &executor), 161002);
    EXPECT_TRUE(executor == nullptr, "nothing was prepared");

    /* Empty tensors: nothing to do. */
    const int64_t none[2] = {0, 3};
    aclTensor *empty = aclCreateTensor(none, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, none, 2, nullptr);
    EXPECT_OK(aclnnMulGetWorkspaceSize(empty, empty, empty, &size, &executor));
    EXPECT_OK(aclnnMul(nullptr, 0, executor, stream));
    EXPECT_OK(aclDestroyTensor(empty));

    /* A tiled format is refused by its name, except for the weight of a product. */
    const int64_t square[2] = {2, 2};
    aclTensor *tiled = aclCreateTensor(square, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_FRACTAL_NZ, square, 2, c.data);
    EXPECT_CODE(aclnnMulGetWorkspaceSize(tiled, c.handle, c.handle, &size, &executor), 161002);
    message = aclGetRecentErrMsg();
    EXPECT_TRUE(message != nullptr && strstr(message, "FRACTAL_NZ") != nullptr, "%s", message ? message : "none");
    EXPECT_OK(aclDestroyTensor(tiled));

    /* A dump checks its arguments. */
    aclTensor *dumped[2] = {a.handle, b.handle};
    EXPECT_OK(aclDumpOpTensors("Mul", "mul1", dumped, 1, 1, stream));
    EXPECT_CODE(aclDumpOpTensors(nullptr, "mul1", dumped, 1, 1, stream), ACLNN_ERR_PARAM_NULLPTR);
    EXPECT_CODE(aclDumpOpTensors("Mul", "mul1", nullptr, 1, 1, stream), ACLNN_ERR_PARAM_NULLPTR);
    dumped[1] = (aclTensor *)&size;
    EXPECT_CODE(aclDumpOpTensors("Mul", "mul1", dumped, 1, 1, stream), ACLNN_ERR_PARAM_INVALID);

    const int64_t shape[2] = {17, 40};
    aclIntArray *dims = aclCreateIntArray(shape, 2);
    EXPECT_OK(aclnnCalculateMatmulWeightSizeV2(dims, ACL_FLOAT16, &size));
    EXPECT_TRUE(size == 32 * 48, "%d", (int)size);
    EXPECT_OK(aclDestroyIntArray(dims));
}

/* A captured operator runs whenever the graph does. */
static void capture()
{
    Tensor a({2}, {1, 2}), b({2}, {3, 4});
    float one = 1;
    aclScalar *alpha = aclCreateScalar(&one, ACL_FLOAT);
    uint64_t size;
    aclOpExecutor *executor = nullptr;
    aclmdlRI graph = nullptr;
    EXPECT_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclnnInplaceAddGetWorkspaceSize(a.handle, b.handle, alpha, &size, &executor));
    EXPECT_OK(aclnnInplaceAdd(nullptr, 0, executor, stream));
    EXPECT_OK(aclmdlRICaptureEnd(stream, &graph));
    EXPECT_OK(aclDestroyScalar(alpha));
    EXPECT_TRUE((a.read(2) == std::vector<float>{1, 2}), "captured, not run");
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE((a.read(2) == std::vector<float>{7, 10}), "ran twice");
    EXPECT_OK(aclmdlRIDestroy(graph));
}

/* An index out of range fails the stream, and touches nothing. */
static void wrong_index()
{
    Tensor a({2, 2}, {1, 2, 3, 4}), out({1, 2}, {0, 0});
    float bits;
    const int32_t seven = 7;
    memcpy(&bits, &seven, sizeof bits);
    Tensor index({1}, {bits}, ACL_INT32);
    uint64_t size;
    aclOpExecutor *executor = nullptr;
    aclrtStream own;
    REQUIRE_OK(aclrtCreateStream(&own));
    EXPECT_OK(aclnnIndexSelectGetWorkspaceSize(a.handle, 0, index.handle, out.handle, &size, &executor));
    EXPECT_OK(aclnnIndexSelect(nullptr, 0, executor, own));
    EXPECT_CODE(aclrtSynchronizeStream(own), 507015);
    EXPECT_TRUE((out.read(2) == std::vector<float>{0, 0}), "untouched");
    EXPECT_OK(aclrtDestroyStream(own));
}

int main()
{
    REQUIRE_OK(aclInit(nullptr));
    EXPECT_OK(aclnnInit(nullptr));
    REQUIRE_OK(aclrtSetDevice(0));
    REQUIRE_OK(aclrtCreateStream(&stream));
    results();
    executors();
    refusals();
    capture();
    wrong_index();
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    EXPECT_OK(aclnnFinalize());
    EXPECT_OK(aclFinalize());
    return finish();
}
