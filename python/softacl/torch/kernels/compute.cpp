// The boxed kernel: from the arguments of an operator on the device to a task of the current stream.

#include <ATen/Functions.h>
#include <c10/core/DeviceGuard.h>

#include <mutex>

#include "kernels.h"
#include "place.h"
#include "torch_npu.h"

extern "C" int softaclIsCapturing(void *stream);

namespace softacl_torch {
namespace {

using torch::jit::Stack;

// Applies `visit` to every tensor of a value.
template <typename F>
void for_each_tensor(const c10::IValue &value, const F &visit) {
    if (value.isTensor()) {
        visit(value.toTensor());
    } else if (value.isTensorList()) {
        for (const at::Tensor &tensor : value.toTensorVector()) visit(tensor);
    } else if (value.isOptionalTensorList()) {
        for (const std::optional<at::Tensor> &tensor : value.toOptionalTensorList()) {
            visit(tensor ? *tensor : at::Tensor());
        }
    }
}

// The device of an operator: that of its tensors, or of its argument `device`. Refuses tensors of several devices.
c10::Device device_of(const Traits &traits, const Stack &arguments) {
    std::optional<c10::Device> found;
    bool has_host = false;
    for (const c10::IValue &argument : arguments) {
        for_each_tensor(argument, [&](const at::Tensor &tensor) {
            if (!tensor.defined()) return;
            if (!is_device(tensor)) {
                TORCH_CHECK(tensor.is_cpu(), traits.name, ": a tensor is on ", tensor.device());
                has_host = has_host || tensor.dim() > 0;
                return;
            }
            TORCH_CHECK_NOT_IMPLEMENTED(tensor.layout() == at::kStrided, "softacl does not compute ", traits.name,
                                        " on tensors with the layout ", tensor.layout());
            TORCH_CHECK(!found || *found == tensor.device(),
                        "Expected all tensors to be on the same device, but found at least two devices, ", *found,
                        " and ", tensor.device(), "! (", traits.name, ")");
            found = tensor.device();
        });
    }
    TORCH_CHECK(!found || !has_host || traits.takes_hosts,
                "Expected all tensors to be on the same device, but found at least two devices, ", *found,
                " and cpu! (", traits.name, ")");
    if (found) return *found;
    for (const c10::IValue &argument : arguments) {
        if (argument.isDevice() && argument.toDevice().type() == c10::kPrivateUse1) {
            found = argument.toDevice();
            if (found->has_index()) return *found;
        }
    }
    return c10::impl::VirtualGuardImpl(c10::kPrivateUse1).getDevice();
}

// True if an index is a mask, so that the number of selected elements depends on its values.
bool has_mask(const Stack &arguments) {
    bool found = false;
    for (const c10::IValue &argument : arguments) {
        if (!argument.isOptionalTensorList()) continue;
        for_each_tensor(argument, [&](const at::Tensor &tensor) {
            found = found || (tensor.defined() && (tensor.scalar_type() == at::kBool || tensor.scalar_type() == at::kByte));
        });
    }
    return found;
}

// Fills the arguments of a task. Device tensors become views, host tensors are copied.
class Recorder {
public:
    Recorder(Task &task, bool is_waiting) : task_(task), is_waiting_(is_waiting) {}

    void record(const Stack &arguments) {
        const auto &declared = task_.op.schema().arguments();
        task_.arguments.reserve(arguments.size());
        for (size_t index = 0; index < arguments.size(); ++index) {
            Argument argument;
            const c10::IValue &value = arguments[index];
            is_fresh_ = is_waiting_ && declared[index].is_out();
            if (value.isTensor()) {
                argument.kind = Argument::Tensor;
            } else if (value.isTensorList()) {
                argument.kind = Argument::TensorList;
            } else if (value.isOptionalTensorList()) {
                argument.kind = Argument::OptionalTensorList;
            } else if (value.isGenerator() || (task_.random && is_generator(declared[index]))) {
                argument.kind = Argument::Generator;
            } else if (value.isDevice()) {
                argument.value = c10::Device(c10::kCPU);
            } else if (declared[index].name() != "pin_memory") {
                argument.value = value;
            }
            for_each_tensor(value, [&](const at::Tensor &tensor) { argument.items.push_back(item(tensor)); });
            task_.arguments.push_back(std::move(argument));
        }
    }

private:
    static bool is_generator(const c10::Argument &argument) {
        const auto &type = argument.real_type();
        if (type->kind() == c10::TypeKind::GeneratorType) return true;
        return type->kind() == c10::TypeKind::OptionalType &&
               type->castRaw<c10::OptionalType>()->getElementType()->kind() == c10::TypeKind::GeneratorType;
    }

    Argument::Item item(const at::Tensor &tensor) {
        if (!tensor.defined()) return {};
        if (is_fresh_) {
            // The size is not known before the result, so the result is moved to the device afterwards.
            task_.hosts.push_back(at::empty({0}, tensor.options().device(at::kCPU)));
            return {Argument::Item::Host, task_.hosts.size() - 1};
        }
        if (is_device(tensor)) {
            task_.views.push_back(View::of(tensor));
            task_.bytes += tensor.nbytes();
            return {Argument::Item::Device, task_.views.size() - 1};
        }
        at::Tensor copy = tensor.clone();
        if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) copy.unsafeGetTensorImpl()->set_wrapped_number(true);
        task_.hosts.push_back(std::move(copy));
        return {Argument::Item::Host, task_.hosts.size() - 1};
    }

    Task &task_;
    bool is_waiting_;
    bool is_fresh_ = false;
};

using Shared = std::shared_ptr<Task>;

int run_task(void *argument) { return (*static_cast<Shared *>(argument))->run(); }
void release_task(void *argument) { delete static_cast<Shared *>(argument); }

c10_npu::NPUStream current_stream(c10::Device device) { return c10_npu::getCurrentNPUStream(device.index()); }

// Queues a task in the order of the task queue of torch_npu.
void submit(const Shared &task, c10::Device device) {
    void *stream = current_stream(device).stream(false);
    task->find_ranges();
    const std::string &name = task->name;
    // The function is copied into the queue, so it holds little.
    const auto launch = [task, place = take_place(), stream]() -> int {
        const AtPlace at(place);
        return softaclLaunchKernel(stream, run_task, new Shared(task), release_task, task->ranges.data(),
                                   task->ranges.size(), task->name.c_str());
    };
    at_npu::native::OpCommand::RunOpApiV2(name, launch, false);
}

at::Tensor new_tensor(const Shape &shape, c10::Device device) {
    return at::empty_strided(shape.sizes, shape.strides, at::TensorOptions(shape.type).device(device));
}

at::Tensor to_device(const at::Tensor &result, c10::Device device) {
    if (!result.defined()) return result;
    const at::Tensor plain = result.resolve_conj().resolve_neg();
    at::Tensor moved = at::empty_strided(plain.sizes(), plain.is_non_overlapping_and_dense() ? plain.strides() : plain.contiguous().strides(),
                                         plain.options().device(device));
    moved.copy_(plain);
    return moved;
}

// Computes now: submits the task, waits for it, and moves what it returned to the device.
void compute_and_wait(const Traits &traits, Shared task, const Stack &arguments, c10::Device device,
                      const std::string &key, Stack *stack) {
    const c10_npu::NPUStream stream = current_stream(device);
    TORCH_CHECK(softaclIsCapturing(stream.stream(true)) == 0, "softacl: ", traits.name,
                " must wait for its result to know the size, which a capture does not permit");
    task->results = std::make_shared<Results>();
    const auto results = task->results;
    const auto hosts = task->hosts;
    const auto recorded = task->arguments;
    const c10::OperatorHandle op = task->op;
    submit(task, device);
    stream.synchronize();
    if (results->error) std::rethrow_exception(results->error);
    const auto &schema = op.schema();
    TORCH_CHECK(results->returned.size() == schema.returns().size(), "softacl: ", traits.name, " did not run");
    if (traits.observes_shapes) cache_shapes(key, shapes_of(op, results->returned));
    for (size_t index = 0; index < arguments.size(); ++index) {
        if (!schema.arguments()[index].is_out() || !arguments[index].isTensor()) continue;
        const at::Tensor out = arguments[index].toTensor();
        const at::Tensor &result = hosts[recorded[index].items[0].index];
        if (out.sizes() != result.sizes()) out.resize_(result.sizes());
        out.copy_(result);
    }
    for (size_t index = 0; index < results->returned.size(); ++index) {
        const c10::IValue &value = results->returned[index];
        if (const auto argument = returned_argument(schema, index)) {
            stack->push_back(arguments[*argument]);
        } else if (value.isTensor()) {
            stack->emplace_back(to_device(value.toTensor(), device));
        } else if (value.isTensorList()) {
            c10::List<at::Tensor> list;
            for (const at::Tensor &tensor : value.toTensorVector()) list.push_back(to_device(tensor, device));
            stack->emplace_back(std::move(list));
        } else {
            stack->push_back(value);
        }
    }
}

// Allocates the results of a task.
Stack allocate(Task &task, const Stack &arguments, c10::Device device) {
    Stack returned;
    const auto output = [&](const Shape &shape) {
        if (!shape.is_defined) return at::Tensor();
        at::Tensor tensor = new_tensor(shape, device);
        task.outputs.push_back(View::of(tensor));
        task.bytes += tensor.nbytes();
        return tensor;
    };
    for (const Return &each : task.returns) {
        if (each.kind == Return::Argument) {
            returned.push_back(arguments[each.argument]);
        } else if (each.kind == Return::Tensor) {
            returned.emplace_back(output(each.shapes[0]));
        } else {
            c10::List<at::Tensor> list;
            for (const Shape &shape : each.shapes) list.push_back(output(shape));
            returned.emplace_back(std::move(list));
        }
    }
    return returned;
}

// The returns of an operator that returns nothing but arguments.
std::shared_ptr<const Shapes> arguments_only(const c10::FunctionSchema &schema) {
    auto shapes = std::make_shared<Shapes>();
    for (size_t index = 0; index < schema.returns().size(); ++index) {
        const auto argument = returned_argument(schema, index);
        if (!argument) return nullptr;
        Return each;
        each.kind = Return::Argument;
        each.argument = *argument;
        shapes->returns.push_back(each);
    }
    return shapes;
}

}  // namespace

View View::of(const at::Tensor &tensor) {
    View view;
    const auto *impl = tensor.unsafeGetTensorImpl();
    c10::StorageImpl *storage = impl->unsafe_storage().unsafeGetStorageImpl();
    view.storage = storage->mutable_data();
    view.storage_bytes = storage->nbytes();
    view.offset = tensor.storage_offset();
    view.shape = {true, tensor.scalar_type(), Sizes(tensor.sizes()), Sizes(tensor.strides())};
    view.is_conj = tensor.is_conj();
    view.is_neg = tensor.is_neg();
    view.is_wrapped_number = impl->is_wrapped_number();
    return view;
}

RandomState take_random_state(const Stack &arguments, c10::Device device) {
    std::optional<at::Generator> generator;
    for (const c10::IValue &argument : arguments) {
        if (argument.isGenerator() && argument.toGenerator().defined()) generator = argument.toGenerator();
    }
    if (!generator) generator = at_npu::detail::getDefaultNPUGenerator(device.index());
    TORCH_CHECK(generator->device().type() == c10::kPrivateUse1, "Expected a 'npu' device type for generator but found '",
                generator->device().type(), "'");
    auto *impl = static_cast<at_npu::NPUGeneratorImpl *>(generator->unsafeGetGeneratorImpl());
    // The offset must advance; a multiple of 4 is what the generator accepts.
    constexpr uint64_t STEP = 4;
    const std::lock_guard<std::mutex> guard(impl->mutex_);
    const at_npu::PhiloxNpuState state = impl->philox_npu_state(STEP);
    if (!state.captured_) return {state.seed_.val, state.offset_.val, nullptr, nullptr};
    return {0, state.offset_intragraph_, state.seed_.ptr->mutable_data_ptr(), state.offset_.ptr->mutable_data_ptr()};
}

void compute(const c10::OperatorHandle &op, c10::DispatchKeySet, Stack *stack) {
    const Traits &traits = traits_of(op);
    const size_t count = op.schema().arguments().size();
    const Stack arguments(std::make_move_iterator(stack->end() - static_cast<ptrdiff_t>(count)),
                          std::make_move_iterator(stack->end()));
    stack->resize(stack->size() - count);
    const c10::Device device = device_of(traits, arguments);
    const c10::DeviceGuard guard(device);
    PlainDispatch plain;

    std::shared_ptr<const Shapes> shapes;
    std::string key;
    if (!traits.waits) {
        if (traits.has_no_meta) {
            shapes = arguments_only(op.schema());
        } else if (!has_mask(arguments)) {
            key = shape_key(op, arguments);
            std::exception_ptr reason;
            shapes = traits.observes_shapes ? cached_shapes(key) : infer_shapes(op, arguments, key, &reason);
        }
    }
    if (shapes) {
        for (const auto &[index, shape] : shapes->resized) {
            const at::Tensor out = arguments[index].toTensor();
            // Two `out` arguments may be one tensor.
            if (out.sizes() != c10::IntArrayRef(shape.sizes)) out.resize_(shape.sizes);
        }
    }
    auto task = std::make_shared<Task>(op);
    task->name = traits.name;
    if (traits.is_random) task->random = take_random_state(arguments, device);
    Recorder(*task, !shapes).record(arguments);
    if (!shapes) {
        compute_and_wait(traits, std::move(task), arguments, device, key, stack);
        return;
    }
    task->returns = shapes->returns;
    Stack returned = allocate(*task, arguments, device);
    submit(task, device);
    for (c10::IValue &value : returned) stack->push_back(std::move(value));
}

}  // namespace softacl_torch
