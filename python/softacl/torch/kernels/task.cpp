// Runs an operator on the CPU, on tensors whose storage is device memory.

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <thread>

#include "kernels.h"

namespace softacl_torch {
namespace {

// The code of a failed task: the exception of a core. Its name is in the message of the stream.
constexpr int TASK_FAILED = 507015;
// Tasks below this number of bytes run on one thread: starting others takes longer.
constexpr size_t BYTES_FOR_THREADS = 512 << 10;

std::atomic<int> running{0};

// Bounds the OpenMP threads of a task: the tasks that run at the same time share the processors.
class ThreadLimit {
public:
    explicit ThreadLimit(size_t bytes) {
        const int others = running.fetch_add(1, std::memory_order_relaxed);
        // The first use of a thread sets its number of threads.
        const int available = at::get_num_threads();
        before_ = omp_get_max_threads();
        const int limit = bytes < BYTES_FOR_THREADS ? 1 : std::max(1, available / (others + 1));
        if (limit != before_) omp_set_num_threads(limit);
    }
    ~ThreadLimit() {
        running.fetch_sub(1, std::memory_order_relaxed);
        if (omp_get_max_threads() != before_) omp_set_num_threads(before_);
    }

private:
    int before_;
};

// CPU tensors on device memory. Tensors of one allocation share a storage, so that aliases stay aliases.
class Tensors {
public:
    at::Tensor on(const View &view) {
        auto tensor = at::detail::make_tensor<c10::TensorImpl>(
            storage(view.storage, view.storage_bytes), c10::DispatchKeySet(c10::DispatchKey::CPU),
            c10::scalarTypeToTypeMeta(view.shape.type));
        auto *impl = tensor.unsafeGetTensorImpl();
        impl->set_sizes_and_strides(view.shape.sizes, view.shape.strides, view.offset);
        if (view.is_conj) impl->_set_conj(true);
        if (view.is_neg) impl->_set_neg(true);
        if (view.is_wrapped_number) impl->set_wrapped_number(true);
        return tensor;
    }

private:
    c10::Storage storage(void *address, size_t bytes) {
        for (const auto &[known, storage] : storages_) {
            if (known == address) return storage;
        }
        void *host = nullptr;
        if (bytes > 0) {
            const aclError code = softaclHostView(address, bytes, &host);
            TORCH_CHECK(code == ACL_SUCCESS, "the device memory at ", address, " (", bytes,
                        " bytes) is gone: softaclHostView returned ", code);
        }
        c10::Storage storage(c10::make_intrusive<c10::StorageImpl>(
            c10::StorageImpl::use_byte_size_t(), bytes, c10::DataPtr(host, c10::Device(c10::kCPU)),
            /*allocator=*/nullptr, /*resizable=*/false));
        storages_.emplace_back(address, storage);
        return storage;
    }

    c10::SmallVector<std::pair<void *, c10::Storage>, 4> storages_;
};

uint64_t read_word(void *address) {
    void *host = nullptr;
    TORCH_CHECK(softaclHostView(address, sizeof(int64_t), &host) == ACL_SUCCESS, "the state of the generator is gone");
    return *static_cast<const uint64_t *>(host);
}

at::Generator generator_of(const RandomState &state) {
    uint64_t seed = state.seed;
    uint64_t offset = state.offset;
    if (state.captured_seed != nullptr) {
        seed = read_word(state.captured_seed);
        offset += read_word(state.captured_offset);
    }
    // Adjacent offsets must give unrelated sequences (the finalizer of splitmix64).
    uint64_t mixed = seed + 0x9e3779b97f4a7c15ULL * (offset + 1);
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
    return at::make_generator<at::CPUGeneratorImpl>(mixed ^ (mixed >> 31));
}

// `native_dropout` has no argument for a generator, and its CPU kernel would use the generator of the host.
void run_dropout(torch::jit::Stack &stack, const at::Generator &generator) {
    const at::Tensor input = stack[0].toTensor();
    const double p = stack[1].toDouble();
    const bool is_training = stack[2].isNone() || stack[2].toBool();
    stack.clear();
    at::Tensor mask = at::ones_like(input, input.options().dtype(at::kBool));
    if (!is_training) {
        stack.emplace_back(input.clone());
        stack.emplace_back(mask);
        return;
    }
    mask.bernoulli_(1 - p, generator);
    stack.emplace_back(input.mul(mask).mul_(p == 1 ? 0. : 1 / (1 - p)));
    stack.emplace_back(mask);
}

void check_and_write(const at::Tensor &result, const Shape &shape, const View *output, Tensors &tensors) {
    if (!shape.is_defined || !result.defined()) {
        TORCH_CHECK(shape.is_defined == result.defined(), "the CPU kernel and the meta kernel differ: one returned no tensor");
        return;
    }
    TORCH_CHECK(result.sizes() == c10::IntArrayRef(shape.sizes) && result.scalar_type() == shape.type,
                "the meta kernel promised ", shape.type, c10::IntArrayRef(shape.sizes), ", the CPU kernel returned ",
                result.scalar_type(), result.sizes());
    tensors.on(*output).copy_(result);
}

// A CPU kernel may give an argument another shape or type. The tensor of the program would keep the old one, with
// values of the new one.
void check_argument(const at::Tensor &argument, const View &view) {
    const Shape &shape = view.shape;
    TORCH_CHECK(argument.sizes() == c10::IntArrayRef(shape.sizes) && argument.strides() == c10::IntArrayRef(shape.strides) &&
                    argument.storage_offset() == view.offset && argument.scalar_type() == shape.type,
                "the CPU kernel changed an argument from ", shape.type, c10::IntArrayRef(shape.sizes), " with strides ",
                c10::IntArrayRef(shape.strides), " to ", argument.scalar_type(), argument.sizes(), " with strides ",
                argument.strides());
}

}  // namespace

PlainDispatch::PlainDispatch()
    : guard_(c10::impl::LocalDispatchKeySet([] {
          c10::impl::PODLocalDispatchKeySet state{};
          state.set_included(c10::default_included_set);
          state.set_excluded(c10::autograd_dispatch_keyset | c10::autocast_dispatch_keyset |
                             c10::DispatchKeySet(c10::DispatchKey::ADInplaceOrView));
          return state;
      }())) {}

int Task::run() {
    try {
        PlainDispatch plain;
        at::NoGradGuard no_grad;
        ThreadLimit limit(bytes);
        Tensors tensors;
        c10::SmallVector<at::Tensor, 8> views_on_host;
        for (const View &view : views) views_on_host.push_back(tensors.on(view));
        const auto tensor_of = [&](const Argument::Item &item) -> at::Tensor {
            switch (item.place) {
                case Argument::Item::Device: return views_on_host[item.index];
                case Argument::Item::Host: return hosts[item.index];
                default: return {};
            }
        };
        std::optional<at::Generator> generator;
        if (random) generator = generator_of(*random);
        torch::jit::Stack stack;
        stack.reserve(arguments.size());
        for (size_t index = 0; index < arguments.size(); ++index) {
            const Argument &argument = arguments[index];
            switch (argument.kind) {
                case Argument::Value:
                    stack.push_back(argument.value);
                    break;
                case Argument::Generator:
                    stack.emplace_back(generator ? c10::IValue(*generator) : c10::IValue());
                    break;
                case Argument::Tensor:
                    stack.emplace_back(tensor_of(argument.items[0]));
                    break;
                case Argument::TensorList: {
                    c10::List<at::Tensor> list;
                    for (const auto &item : argument.items) list.push_back(tensor_of(item));
                    stack.emplace_back(std::move(list));
                    break;
                }
                case Argument::OptionalTensorList: {
                    c10::List<std::optional<at::Tensor>> list;
                    for (const auto &item : argument.items) {
                        at::Tensor tensor = tensor_of(item);
                        list.push_back(tensor.defined() ? std::optional<at::Tensor>(tensor) : std::nullopt);
                    }
                    stack.emplace_back(std::move(list));
                    break;
                }
            }
        }
        if (is_dropout(op)) {
            run_dropout(stack, *generator);
        } else {
            op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
        }
        for (size_t index = 0; index < views.size(); ++index) check_argument(views_on_host[index], views[index]);
        if (results) {
            results->returned = std::move(stack);
            return 0;
        }
        TORCH_CHECK(stack.size() == returns.size(), "the CPU kernel returned ", stack.size(), " values");
        size_t next = 0;
        const auto write = [&](const at::Tensor &result, const Shape &shape) {
            check_and_write(result, shape, shape.is_defined ? &outputs[next++] : nullptr, tensors);
        };
        for (size_t index = 0; index < returns.size(); ++index) {
            const Return &returned = returns[index];
            if (returned.kind == Return::Tensor) {
                write(stack[index].toTensor(), returned.shapes[0]);
            } else if (returned.kind == Return::TensorList) {
                const auto list = stack[index].toTensorVector();
                TORCH_CHECK(list.size() == returned.shapes.size(), "the meta kernel promised ", returned.shapes.size(),
                            " tensors, the CPU kernel returned ", list.size());
                for (size_t at = 0; at < list.size(); ++at) write(list[at], returned.shapes[at]);
            }
        }
        return 0;
    } catch (...) {
        if (results) {
            results->error = std::current_exception();
            return 0;
        }
        try {
            throw;
        } catch (const c10::Error &error) {
            std::fprintf(stderr, "softacl: %s failed on the device: %s\n", name.c_str(), error.what_without_backtrace());
        } catch (const std::exception &error) {
            std::fprintf(stderr, "softacl: %s failed on the device: %s\n", name.c_str(), error.what());
        } catch (...) {
            std::fprintf(stderr, "softacl: %s failed on the device\n", name.c_str());
        }
        return TASK_FAILED;
    }
}

namespace {

// True for operators that fill their first argument without reading it.
bool only_writes(const std::string &name) {
    static const std::array<const char *, 11> NAMES = {
        "aten::fill_",      "aten::zero_",        "aten::copy_",      "aten::normal_",     "aten::uniform_", "aten::random_",
        "aten::bernoulli_", "aten::exponential_", "aten::geometric_", "aten::log_normal_", "aten::cauchy_"};
    return std::any_of(NAMES.begin(), NAMES.end(), [&](const char *each) { return name == each; });
}

// At most this many runs of one tensor are reported. Races in the others are missed; nothing is reported wrongly.
constexpr size_t MAX_RUNS = 1 << 15;

// Adds the bytes of a tensor: maximal runs of bytes without gaps. One range for a dense tensor, whatever its order.
void add_ranges(const View &view, uint32_t access, std::vector<softaclRange> &ranges) {
    const size_t element = c10::elementSize(view.shape.type);
    // Dimensions by falling stride. Steps of stride 0 and dimensions of size 1 reach nothing new.
    c10::SmallVector<std::pair<int64_t, int64_t>, 6> dimensions;
    for (size_t at = 0; at < view.shape.sizes.size(); ++at) {
        const int64_t size = view.shape.sizes[at];
        const int64_t stride = view.shape.strides[at];
        if (size == 0) return;
        if (size > 1 && stride != 0) dimensions.emplace_back(stride, size);
    }
    std::sort(dimensions.rbegin(), dimensions.rend());
    size_t run = 1;  // in elements
    while (!dimensions.empty() && static_cast<size_t>(dimensions.back().first) <= run) {
        run += static_cast<size_t>(dimensions.back().first * (dimensions.back().second - 1));
        dimensions.pop_back();
    }
    auto *start = static_cast<char *>(view.storage) + view.offset * static_cast<int64_t>(element);
    c10::SmallVector<int64_t, 6> index(dimensions.size(), 0);
    for (size_t count = 0; count < MAX_RUNS; ++count) {
        int64_t offset = 0;
        for (size_t at = 0; at < dimensions.size(); ++at) offset += index[at] * dimensions[at].first;
        ranges.push_back({start + offset * static_cast<int64_t>(element), run * element, access});
        size_t at = dimensions.size();
        while (at > 0 && ++index[at - 1] == dimensions[at - 1].second) index[--at] = 0;
        if (at == 0) return;
    }
}

}  // namespace

void Task::find_ranges() {
    ranges.reserve(views.size() + outputs.size());
    const auto &schema = op.schema();
    // Which rows an index selects is not known before the task runs. To report the whole tensor would be wrong: another
    // stream may use other rows.
    const size_t first = traits_of(op).is_indexed ? 1 : 0;
    for (size_t index = first; index < arguments.size(); ++index) {
        const auto *alias = schema.arguments()[index].alias_info();
        uint32_t access = SOFTACL_READ;
        if (alias != nullptr && alias->isWrite()) {
            // An `out` argument is written without being read.
            const bool is_written_only = schema.arguments()[index].is_out() || (index == 0 && only_writes(schema.name()));
            access = is_written_only ? SOFTACL_WRITE : SOFTACL_READ | SOFTACL_WRITE;
        }
        for (const auto &item : arguments[index].items) {
            if (item.place == Argument::Item::Device) add_ranges(views[item.index], access, ranges);
        }
    }
    for (const View &output : outputs) add_ranges(output, SOFTACL_WRITE, ranges);
    if (random && random->captured_seed != nullptr) {
        ranges.push_back({random->captured_seed, sizeof(int64_t), SOFTACL_READ});
        ranges.push_back({random->captured_offset, sizeof(int64_t), SOFTACL_READ});
    }
}

}  // namespace softacl_torch
