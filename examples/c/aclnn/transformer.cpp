/*
 * A transformer layer that decodes tokens with aclnn operators, and offloads its key-value cache.
 *
 * Each step computes one token on the compute stream: norm, attention over the cache, residual, gated feed-forward. The
 * keys and values of the token go to pinned host memory on a second stream, which waits for an event of the first. Without
 * the wait (-DNO_WAIT), `softacl check --with-aclnn` reports S1. In the middle, the cache is dropped and loaded again. The results are
 * those of the same layer written in plain C++ below.
 *
 *     source set_env.sh --aclnn
 *     g++ -std=c++17 transformer.cpp -I$ASCEND_HOME_PATH/include -L$ASCEND_HOME_PATH/lib64 -L$ASCEND_HOME_PATH/lib64/stub \
 *         -lopapi -lnnopbase -lascendcl -o transformer && ./transformer
 */
#include "../common.h"

#include "aclnn/aclnn_base.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_batch_matmul.h"
#include "aclnnop/aclnn_copy.h"
#include "aclnnop/aclnn_mm.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_rms_norm.h"
#include "aclnnop/aclnn_softmax.h"
#include "aclnnop/aclnn_swi_glu.h"

#include <cmath>
#include <vector>

static const int64_t HIDDEN = 64, HEADS = 4, WIDTH = HIDDEN / HEADS, INNER = 96, TOKENS = 6;
static const double EPSILON = 1e-6;
static aclrtStream compute, offload;

/* Both phases of an operator. No operator of softacl needs a workspace; on a card, allocate `size` bytes. */
#define RUN(name, ...)                                                          \
    do {                                                                        \
        uint64_t size = 0;                                                      \
        aclOpExecutor *executor = nullptr;                                      \
        CHECK(name##GetWorkspaceSize(__VA_ARGS__, &size, &executor));           \
        void *workspace = nullptr;                                              \
        if (size > 0) {                                                         \
            CHECK(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST));    \
        }                                                                       \
        CHECK(name(workspace, size, executor, compute));                        \
        if (size > 0) {                                                         \
            CHECK(aclrtSynchronizeStream(compute));                             \
            CHECK(aclrtFree(workspace));                                        \
        }                                                                       \
    } while (0)

/* A view of device memory; the descriptor may go as soon as phase two has returned. */
struct View {
    aclTensor *handle;
    View(void *data, std::vector<int64_t> dims, std::vector<int64_t> strides = {}, int64_t offset = 0)
    {
        const int64_t storage = 1 << 20;
        handle = aclCreateTensor(dims.data(), dims.size(), ACL_FLOAT, strides.empty() ? nullptr : strides.data(), offset,
                                 ACL_FORMAT_ND, &storage, 1, data);
        VERIFY(handle != nullptr);
    }
    View(const View &) = delete;
    ~View() { CHECK(aclDestroyTensor(handle)); }
    operator aclTensor *() const { return handle; }
};

static void *device(size_t count)
{
    void *memory = nullptr;
    CHECK(aclrtMalloc(&memory, count * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMemset(memory, count * sizeof(float), 0, count * sizeof(float)));
    return memory;
}

static std::vector<float> values(size_t count, unsigned seed)
{
    std::vector<float> result(count);
    for (size_t i = 0; i < count; i++) {
        result[i] = (float)std::sin(0.7 * (double)(i + 1) + seed) * 0.3F;
    }
    return result;
}

static void *upload(const std::vector<float> &host)
{
    void *memory = device(host.size());
    CHECK(aclrtMemcpy(memory, host.size() * 4, host.data(), host.size() * 4, ACL_MEMCPY_HOST_TO_DEVICE));
    return memory;
}

/* The layer in plain C++, with a separate cache. */
struct Reference {
    const std::vector<float> &gamma, &qkv, &project, &up, &down;
    std::vector<double> keys, vals;

    static std::vector<double> product(const std::vector<double> &x, const std::vector<float> &w, int64_t n)
    {
        std::vector<double> y((size_t)n);
        for (size_t k = 0; k < x.size(); k++) {
            for (int64_t j = 0; j < n; j++) {
                y[(size_t)j] += x[k] * (double)w[k * (size_t)n + (size_t)j];
            }
        }
        return y;
    }
    std::vector<double> norm(const std::vector<double> &x) const
    {
        double square = 0;
        for (double value : x) {
            square += value * value;
        }
        std::vector<double> y(x);
        for (size_t i = 0; i < y.size(); i++) {
            y[i] *= (double)gamma[i] / std::sqrt(square / (double)x.size() + EPSILON);
        }
        return y;
    }
    std::vector<double> step(const std::vector<float> &token)
    {
        std::vector<double> x(token.begin(), token.end()), all = product(norm(x), qkv, 3 * HIDDEN), mixed((size_t)HIDDEN);
        keys.insert(keys.end(), all.begin() + HIDDEN, all.begin() + 2 * HIDDEN);
        vals.insert(vals.end(), all.begin() + 2 * HIDDEN, all.end());
        const size_t length = keys.size() / (size_t)HIDDEN;
        for (size_t h = 0; h < (size_t)HEADS; h++) {
            std::vector<double> score(length);
            double sum = 0;
            for (size_t t = 0; t < length; t++) {
                for (size_t d = h * (size_t)WIDTH; d < (h + 1) * (size_t)WIDTH; d++) {
                    score[t] += all[d] * keys[t * (size_t)HIDDEN + d];
                }
                sum += score[t] = std::exp(score[t] / std::sqrt((double)WIDTH));
            }
            for (size_t t = 0; t < length; t++) {
                for (size_t d = h * (size_t)WIDTH; d < (h + 1) * (size_t)WIDTH; d++) {
                    mixed[d] += score[t] / sum * vals[t * (size_t)HIDDEN + d];
                }
            }
        }
        std::vector<double> weighted = product(mixed, project, HIDDEN);
        for (size_t i = 0; i < x.size(); i++) {
            x[i] += weighted[i];
        }
        std::vector<double> wide = product(norm(x), up, 2 * INNER), gated((size_t)INNER);
        for (size_t i = 0; i < (size_t)INNER; i++) {
            gated[i] = wide[i] / (1 + std::exp(-wide[i])) * wide[i + (size_t)INNER];
        }
        std::vector<double> result = product(gated, down, HIDDEN);
        for (size_t i = 0; i < x.size(); i++) {
            result[i] += x[i];
        }
        return result;
    }
};

int main()
{
    CHECK(aclInit(nullptr));
    CHECK(aclnnInit(nullptr));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtCreateStream(&compute));
    CHECK(aclrtCreateStream(&offload));
    aclrtEvent computed, moved;
    CHECK(aclrtCreateEvent(&computed));
    CHECK(aclrtCreateEvent(&moved));

    const std::vector<float> gamma = values(HIDDEN, 1), qkv = values(HIDDEN * 3 * HIDDEN, 2), project = values(HIDDEN * HIDDEN, 3);
    const std::vector<float> up = values(HIDDEN * 2 * INNER, 4), down = values(INNER * HIDDEN, 5);
    Reference reference{gamma, qkv, project, up, down, {}, {}};
    std::vector<void *> memory;
    auto keep = [&](void *address) {
        memory.push_back(address);
        return address;
    };
    void *d_gamma = keep(upload(gamma)), *d_qkv = keep(upload(qkv)), *d_project = keep(upload(project));
    void *d_up = keep(upload(up)), *d_down = keep(upload(down));
    void *x = keep(device(HIDDEN)), *normed = keep(device(HIDDEN)), *rstd = keep(device(1)), *all = keep(device(3 * HIDDEN));
    void *scores = keep(device(HEADS * TOKENS)), *mixed = keep(device(HIDDEN)), *weighted = keep(device(HIDDEN));
    void *wide = keep(device(2 * INNER)), *gated = keep(device(INNER)), *out = keep(device(HIDDEN));
    const size_t row = 2 * HIDDEN * sizeof(float), cache_size = (size_t)TOKENS * row;
    void *cache = keep(device(TOKENS * 2 * HIDDEN)); /* per token: its key, then its value */
    char *store = nullptr;
    CHECK(aclrtMallocHost((void **)&store, cache_size));

    float one = 1, scale = 1 / std::sqrt((float)WIDTH);
    aclScalar *alpha = aclCreateScalar(&one, ACL_FLOAT), *factor = aclCreateScalar(&scale, ACL_FLOAT);
    double worst = 0;
    for (int64_t t = 0; t < TOKENS; t++) {
        const std::vector<float> token = values(HIDDEN, 10 + (unsigned)t);
        CHECK(aclrtMemcpy(x, HIDDEN * 4, token.data(), HIDDEN * 4, ACL_MEMCPY_HOST_TO_DEVICE));
        if (t == TOKENS / 2) {
            /* The cache is needed elsewhere: drop it, and load it again from the host. */
            CHECK(aclrtMemsetAsync(cache, cache_size, 0xff, cache_size, offload));
            CHECK(aclrtMemcpyAsync(cache, cache_size, store, (size_t)t * row, ACL_MEMCPY_HOST_TO_DEVICE, offload));
            CHECK(aclrtRecordEvent(moved, offload));
            CHECK(aclrtStreamWaitEvent(compute, moved));
        }
        View residual(x, {1, HIDDEN}), norm(normed, {1, HIDDEN}), weight(d_gamma, {HIDDEN}), inverse(rstd, {1, 1});
        View projected(all, {1, 3 * HIDDEN}), w_qkv(d_qkv, {HIDDEN, 3 * HIDDEN}), w_project(d_project, {HIDDEN, HIDDEN});
        RUN(aclnnRmsNorm, residual, weight, EPSILON, norm, inverse);
        RUN(aclnnMm, norm, w_qkv, projected, 0);
        View fresh(all, {2 * HIDDEN}, {1}, HIDDEN), slot(cache, {2 * HIDDEN}, {1}, t * 2 * HIDDEN);
        RUN(aclnnInplaceCopy, slot, fresh);
        CHECK(aclrtRecordEvent(computed, compute));
#ifndef NO_WAIT
        CHECK(aclrtStreamWaitEvent(offload, computed));
#endif
        CHECK(aclrtMemcpyAsync(store + (size_t)t * row, row, (char *)cache + (size_t)t * row, row, ACL_MEMCPY_DEVICE_TO_HOST, offload));

        /* Heads are a dimension of the batch: (heads, 1, width) x (heads, width, tokens). */
        const int64_t length = t + 1, stride = 2 * HIDDEN;
        View query(all, {HEADS, 1, WIDTH}, {WIDTH, HIDDEN, 1}), keys(cache, {HEADS, WIDTH, length}, {WIDTH, 1, stride});
        View vals(cache, {HEADS, length, WIDTH}, {WIDTH, stride, 1}, HIDDEN), score(scores, {HEADS, 1, length});
        View heads(mixed, {HEADS, 1, WIDTH}), mix(mixed, {1, HIDDEN}), attention(weighted, {1, HIDDEN});
        RUN(aclnnBatchMatMul, query, keys, score, 0);
        RUN(aclnnInplaceMuls, score, factor);
        RUN(aclnnSoftmax, score, -1, score);
        RUN(aclnnBatchMatMul, score, vals, heads, 0);
        RUN(aclnnMm, mix, w_project, attention, 0);
        RUN(aclnnInplaceAdd, residual, attention, alpha);
        View both(wide, {1, 2 * INNER}), w_up(d_up, {HIDDEN, 2 * INNER}), gate(gated, {1, INNER}), w_down(d_down, {INNER, HIDDEN});
        View result(out, {1, HIDDEN});
        RUN(aclnnRmsNorm, residual, weight, EPSILON, norm, inverse);
        RUN(aclnnMm, norm, w_up, both, 0);
        RUN(aclnnSwiGlu, both, -1, gate);
        RUN(aclnnMm, gate, w_down, result, 0);
        RUN(aclnnInplaceAdd, result, residual, alpha);
        CHECK(aclrtSynchronizeStream(compute));
        CHECK(aclrtSynchronizeStream(offload));

        std::vector<float> found(HIDDEN);
        CHECK(aclrtMemcpy(found.data(), HIDDEN * 4, out, HIDDEN * 4, ACL_MEMCPY_DEVICE_TO_HOST));
        const std::vector<double> expected = reference.step(token);
        for (size_t i = 0; i < (size_t)HIDDEN; i++) {
            worst = std::fmax(worst, std::fabs((double)found[i] - expected[i]) / (1 + std::fabs(expected[i])));
        }
    }
    printf("%d tokens, largest difference from the reference: %.1e\n", (int)TOKENS, worst);
    VERIFY(worst < 1e-4);

    CHECK(aclDestroyScalar(alpha));
    CHECK(aclDestroyScalar(factor));
    for (void *address : memory) {
        CHECK(aclrtFree(address));
    }
    CHECK(aclrtFreeHost(store));
    CHECK(aclrtDestroyEvent(computed));
    CHECK(aclrtDestroyEvent(moved));
    CHECK(aclrtDestroyStream(compute));
    CHECK(aclrtDestroyStream(offload));
    CHECK(aclrtResetDevice(0));
    CHECK(aclnnFinalize());
    CHECK(aclFinalize());
    return 0;
}
