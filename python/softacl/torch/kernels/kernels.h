// Operators of PyTorch as kernels of softacl. See README.md in the directory above.
#pragma once

#include <ATen/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/SmallVector.h>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "softacl/softacl.h"

namespace softacl_torch {

using Sizes = c10::SmallVector<int64_t, 5>;

// The shape of a tensor that an operator will produce. An undefined tensor has `is_defined` false.
struct Shape {
    bool is_defined = false;
    at::ScalarType type = at::ScalarType::Undefined;
    Sizes sizes;
    Sizes strides;
};

// One value that an operator returns.
struct Return {
    enum Kind { Argument, Tensor, TensorList } kind = Tensor;
    // The argument that is returned, for `Argument`.
    size_t argument = 0;
    // One shape for `Tensor`, any number for `TensorList`.
    std::vector<Shape> shapes;
};

// What an operator returns, and the arguments that it resizes (`out=`).
struct Shapes {
    std::vector<Return> returns;
    std::vector<std::pair<size_t, Shape>> resized;
};

// A tensor in device memory: its address and its layout. Holds no reference, as the arguments of a kernel do not.
struct View {
    void *storage = nullptr;
    size_t storage_bytes = 0;
    int64_t offset = 0;
    Shape shape;
    bool is_conj = false;
    bool is_neg = false;
    bool is_wrapped_number = false;

    static View of(const at::Tensor &tensor);
};

// The state of a generator of random numbers at the submit. In a capture it is in device memory, where every run of the
// graph finds its own.
struct RandomState {
    uint64_t seed = 0;
    uint64_t offset = 0;
    void *captured_seed = nullptr;
    void *captured_offset = nullptr;
};

// An argument of an operator. `items` has an index for every tensor: of a view, or of a host tensor, or none.
struct Argument {
    enum Kind { Value, Generator, Tensor, TensorList, OptionalTensorList } kind = Value;
    c10::IValue value;
    struct Item {
        enum Place { Undefined, Device, Host } place = Undefined;
        size_t index = 0;
    };
    c10::SmallVector<Item, 1> items;
};

// What an operator returned to a caller that waits for it.
struct Results {
    torch::jit::Stack returned;
    std::exception_ptr error;
};

// An operator with its arguments, as a task of a stream. `run` may be called any number of times, on any thread.
struct Task {
    explicit Task(const c10::OperatorHandle &op) : op(op) {}

    c10::OperatorHandle op;
    std::string name;
    std::vector<Argument> arguments;
    std::vector<View> views;
    std::vector<at::Tensor> hosts;
    std::vector<Return> returns;
    // Device memory of the tensors in `returns`, in their order; without undefined tensors.
    std::vector<View> outputs;
    std::optional<RandomState> random;
    // Bytes of all tensors: decides how many threads are worth their start.
    size_t bytes = 0;
    // For a caller that waits: the task leaves its results here, and writes only to arguments.
    std::shared_ptr<Results> results;

    // What the task reads and writes, for the checker.
    std::vector<softaclRange> ranges;

    int run();
    void find_ranges();
};

// The shapes that `op` will produce, from its meta kernel. `nullptr` if it has none, or if the values decide.
// `reason` then has the error of the meta kernel.
std::shared_ptr<const Shapes> infer_shapes(const c10::OperatorHandle &op, const torch::jit::Stack &arguments,
                                           const std::string &key, std::exception_ptr *reason);
// A text that is equal for calls with equal shapes, or an empty one.
std::string shape_key(const c10::OperatorHandle &op, const torch::jit::Stack &arguments);
std::shared_ptr<const Shapes> cached_shapes(const std::string &key);
void cache_shapes(const std::string &key, std::shared_ptr<const Shapes> shapes);
// The shapes of values that an operator has returned.
std::shared_ptr<const Shapes> shapes_of(const c10::OperatorHandle &op, const torch::jit::Stack &returned);

// Index of the argument that return `index` of `op` is, if it is one.
std::optional<size_t> returned_argument(const c10::FunctionSchema &schema, size_t index);

// The boxed kernel of all operators that have a CPU kernel.
void compute(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack);

// Takes the next numbers of the generator in `arguments`, or of the default generator of the device.
RandomState take_random_state(const torch::jit::Stack &arguments, c10::Device device);

// True if `op` draws random numbers although it has no argument for a generator.
bool is_dropout(const c10::OperatorHandle &op);

// How an operator is computed, decided once.
struct Traits {
    std::string name;
    // The size of a result depends on values, or a result is not a tensor: the call waits.
    bool waits = false;
    // The meta kernel promises other shapes than the CPU kernel returns: the first call waits and shows them.
    bool observes_shapes = false;
    // Every result is an argument, and the meta kernel does not accept what the CPU kernel accepts.
    bool has_no_meta = false;
    // Tensors of the host may be arguments.
    bool takes_hosts = false;
    bool is_random = false;
    // The values of an index decide which part of the first argument is read or written.
    bool is_indexed = false;
};

const Traits &traits_of(const c10::OperatorHandle &op);

// Clears the state of the calling thread that changes how operators are dispatched: autograd, autocast, modes.
class PlainDispatch {
public:
    PlainDispatch();

private:
    c10::impl::ForceDispatchKeyGuard guard_;
};

inline bool is_device(const at::Tensor &tensor) { return tensor.defined() && tensor.is_privateuseone(); }

}  // namespace softacl_torch
