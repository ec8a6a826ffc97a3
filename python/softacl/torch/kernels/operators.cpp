// Which operators are computed here, which stay with torch_npu, and which are refused.

#include <ATen/Functions.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "kernels.h"
#include "place.h"
#include "torch_npu.h"

namespace softacl_torch {
namespace {

using torch::jit::Stack;

template <size_t N>
bool contains(const std::array<std::string_view, N> &names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// Allocation, storage and transport: torch_npu does these with calls of the runtime.
constexpr std::array<std::string_view, 30> LEFT = {
    "resize_",        "resize_as_",     "set_",          "record_stream",  "_local_scalar_dense",
    "item",           "is_pinned",      "pin_memory",    "_pin_memory",    "_resize_output_",
    "_copy_from",     "_copy_from_and_resize", "_to_copy", "to",           "lift",
    "lift_fresh",     "is_set_to",      "_has_same_storage_numel", "new_empty", "new_empty_strided",
    "_efficientzerotensor", "data",     "set_data",      "is_leaf",        "output_nr",
    "_version",       "requires_grad_", "retain_grad",   "_fw_primal",     "_make_dual"};

// Parts of names of operators on other kinds of tensors.
constexpr std::array<std::string_view, 12> OTHER_TENSORS = {
    "sparse", "_coalesce", "coo", "csr", "quantize", "q_per", "q_scale", "q_zero", "nested", "jagged", "mkldnn", "fbgemm"};

// Operators that PyTorch composes from a kernel for each kind of device. On the CPU they are one computation.
constexpr std::array<std::string_view, 3> WHOLE = {"convolution", "convolution_backward", "_convolution"};

// Operators whose meta kernel promises other shapes than the CPU kernel returns.
constexpr std::array<std::string_view, 9> OBSERVED = {
    "_embedding_bag", "_embedding_bag_forward_only", "native_batch_norm", "_native_batch_norm_legit",
    "_native_batch_norm_legit_no_training", "_batch_norm_with_update", "_batch_norm_no_update",
    "linalg_lstsq", "native_batch_norm_backward"};

// Operators that write to an argument at places given by masks or indices, of the device or of the host.
constexpr std::array<std::string_view, 2> WRITE_AT_INDEX = {"index_put_", "_index_put_impl_"};

// Operators that accept tensors of the host next to tensors of the device.
constexpr std::array<std::string_view, 8> TAKE_HOSTS = {
    "index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index", "_unsafe_index_put",
    "_pack_padded_sequence", "_ctc_loss"};

// Operators that read or write parts of their first argument, at places given by the values of an index.
constexpr std::array<std::string_view, 20> INDEXED = {
    "index",       "_unsafe_index", "index_select", "gather",      "take",         "embedding",    "index_put_",
    "_index_put_impl_", "index_copy_", "index_add_", "index_fill_", "index_reduce_", "scatter_",    "scatter_add_",
    "scatter_reduce_", "put_",      "embedding_renorm_", "_embedding_bag", "_embedding_bag_forward_only", "take_along_dim"};

std::unordered_map<const c10::FunctionSchema *, Traits> all_traits;
std::array<std::string, 4> lists;  // computed, composed, refused, waiting; one name per line

std::string_view base_name(const c10::OperatorHandle &op) {
    std::string_view name = op.operator_name().name;
    return name.substr(name.find("::") + 2);
}

bool is_left(const c10::OperatorHandle &op) {
    const std::string_view name = base_name(op);
    if (name.substr(0, 5) == "empty" || contains(LEFT, name)) return true;
    const auto is_part = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
    if (std::any_of(OTHER_TENSORS.begin(), OTHER_TENSORS.end(), is_part)) return true;
    // A view: its result is an argument that it does not write.
    return std::any_of(op.schema().returns().begin(), op.schema().returns().end(), [](const c10::Argument &returned) {
        return returned.alias_info() != nullptr && !returned.alias_info()->isWrite();
    });
}

bool has_generator(const c10::FunctionSchema &schema) {
    return std::any_of(schema.arguments().begin(), schema.arguments().end(), [](const c10::Argument &argument) {
        return argument.real_type()->str().find("Generator") != std::string::npos;
    });
}

bool returns_tensors(const c10::FunctionSchema &schema) {
    return std::all_of(schema.returns().begin(), schema.returns().end(), [](const c10::Argument &returned) {
        const auto &type = *returned.real_type();
        return type.kind() == c10::TypeKind::TensorType ||
               (type.kind() == c10::TypeKind::ListType &&
                type.castRaw<c10::ListType>()->getElementType()->kind() == c10::TypeKind::TensorType);
    });
}

Traits traits_for(const c10::OperatorHandle &op) {
    const std::string_view name = base_name(op);
    Traits traits;
    traits.name = op.operator_name().overload_name.empty()
                      ? op.operator_name().name
                      : op.operator_name().name + "." + op.operator_name().overload_name;
    // The size of `x[index]` depends on values only if the index is a mask, which is known at the call.
    const bool has_dynamic_size = op.hasTag(at::Tag::dynamic_output_shape) && name != "index" && name != "_unsafe_index";
    traits.waits = !returns_tensors(op.schema()) || has_dynamic_size;
    traits.observes_shapes = contains(OBSERVED, name);
    traits.has_no_meta = contains(WRITE_AT_INDEX, name);
    traits.takes_hosts = contains(TAKE_HOSTS, name);
    traits.is_random = has_generator(op.schema()) || is_dropout(op);
    traits.is_indexed = contains(INDEXED, name);
    return traits;
}

// Calls a kernel that another library registered.
class Forward final : public c10::OperatorKernel {
public:
    explicit Forward(c10::SafeKernelFunction kernel) : kernel_(std::move(kernel)) {}
    void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys, Stack *stack) {
        kernel_.callBoxed(op, keys, stack);
    }

private:
    c10::SafeKernelFunction kernel_;
};

void refuse(const c10::OperatorHandle &op, c10::DispatchKeySet, Stack *) {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "softacl does not compute ", op.operator_name().name,
                                op.operator_name().overload_name.empty() ? "" : ".", op.operator_name().overload_name,
                                ": PyTorch has no CPU kernel for it");
}

// Copies on the device that convert or rearrange are computed. All others are copies of the runtime.
class Copy final : public c10::OperatorKernel {
public:
    explicit Copy(c10::SafeKernelFunction plain) : plain_(std::move(plain)) {}
    void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys, Stack *stack) {
        const at::Tensor &target = (*stack)[stack->size() - 3].toTensor();
        const at::Tensor &source = (*stack)[stack->size() - 2].toTensor();
        const bool is_on_device = is_device(target) && is_device(source) && target.device() == source.device();
        const bool is_plain = target.scalar_type() == source.scalar_type() && target.sizes() == source.sizes() &&
                              target.strides() == source.strides() && target.is_non_overlapping_and_dense() &&
                              target.is_conj() == source.is_conj() && target.is_neg() == source.is_neg();
        if (is_on_device && !is_plain) {
            compute(op, keys, stack);
        } else if (const Place place = take_place()) {
            // torch_npu submits the copy in its queue, between these two.
            queue([place] { softaclEnterPlace(place.get()); });
            plain_.callBoxed(op, keys, stack);
            queue([] { softaclLeavePlace(); });
        } else {
            plain_.callBoxed(op, keys, stack);
        }
    }

private:
    template <typename F>
    static void queue(F &&function) {
        const auto run = [function]() -> int {
            function();
            return 0;
        };
        at_npu::native::OpCommand::RunOpApiV2("softacl_place", run, false);
    }

    c10::SafeKernelFunction plain_;
};

// Attention is composed of operators that the CPU has: the fused kernels are for other devices.
void choose_attention(const c10::OperatorHandle &op, c10::DispatchKeySet, Stack *stack) {
    torch::jit::drop(*stack, op.schema().arguments().size());
    stack->emplace_back(int64_t{0});
}

// PyTorch warns when a library replaces kernels of another one, which is the purpose of this one.
class Silence final : public c10::WarningHandler {
    void process(const c10::Warning &) override {}
};

template <typename Kernel>
torch::CppFunction functor(c10::SafeKernelFunction kernel) {
    return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Kernel>(std::move(kernel)));
}

// The key whose kernel differentiates an operator. On the CPU, torch_npu registers kernels for operators that
// are composed of others (`true_divide`), so that their gradient is lost there. A backend without kernels keeps it.
c10::DispatchKey autograd_key(const c10::OperatorHandle &op) {
    const bool is_composed = op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
                             !op.hasKernelForDispatchKey(c10::DispatchKey::Autograd) &&
                             !op.hasKernelForDispatchKey(c10::DispatchKey::AutogradCPU);
    return is_composed ? c10::DispatchKey::AutogradPrivateUse3 : c10::DispatchKey::AutogradCPU;
}

void add(size_t list, const std::string &name) { lists[list] += name + "\n"; }

void register_operator(torch::Library &library, torch::Library &autograd, const c10::OperatorHandle &op) {
    if (is_left(op)) return;
    const Traits traits = traits_for(op);
    const std::string_view name = base_name(op);
    const bool has_own = op.hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1);
    const auto implement = [&](torch::CppFunction &&kernel) { library.impl(traits.name.c_str(), std::move(kernel)); };
    const bool has_cpu = op.hasKernelForDispatchKey(c10::DispatchKey::CPU) || contains(WHOLE, name);
    // With a separate kernel for the device, a composed operator would not be differentiated through its parts.
    if (op.hasKernelForDispatchKey(c10::DispatchKey::AutogradPrivateUse1) ||
        ((has_own || has_cpu) && op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd))) {
        autograd.impl(traits.name.c_str(), functor<Forward>(op.getComputedKernelForDispatchKey(autograd_key(op))));
    }
    const bool is_composed = op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
                             op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional) ||
                             op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
    if (traits.name == "aten::copy_") {
        all_traits.emplace(&op.schema(), traits);
        implement(functor<Copy>(op.getComputedKernelForDispatchKey(c10::DispatchKey::PrivateUse1)));
    } else if (name == "_fused_sdp_choice") {
        implement(torch::CppFunction::makeFromBoxedFunction<&choose_attention>());
    } else if (has_cpu) {
        all_traits.emplace(&op.schema(), traits);
        add(0, traits.name);
        if (traits.waits) add(3, traits.name);
        implement(torch::CppFunction::makeFromBoxedFunction<&compute>());
    } else if (has_own && is_composed) {
        add(1, traits.name);
        implement(functor<Forward>(op.getComputedKernelForDispatchKey(c10::DispatchKey::CPU)));
    } else if (has_own) {
        add(2, traits.name);
        implement(torch::CppFunction::makeFromBoxedFunction<&refuse>());
    }
}

}  // namespace

bool is_dropout(const c10::OperatorHandle &op) { return base_name(op) == "native_dropout" && op.operator_name().overload_name.empty(); }

const Traits &traits_of(const c10::OperatorHandle &op) { return all_traits.at(&op.schema()); }

}  // namespace softacl_torch

#define EXPORT extern "C" __attribute__((visibility("default")))

// Registers the kernels. Called once, after torch_npu is loaded. Returns NULL, or what went wrong.
EXPORT const char *softacl_torch_register() try {
    using namespace softacl_torch;
    static Silence silence;
    const c10::WarningUtils::WarningHandlerGuard guard(&silence);
    // Never destroyed: the process may compute until its end.
    static auto *library =
        new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
    static auto *autograd =
        new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::AutogradPrivateUse1, __FILE__, __LINE__);
    auto names = c10::Dispatcher::singleton().getAllOpNames();
    std::sort(names.begin(), names.end(), [](const auto &a, const auto &b) { return toString(a) < toString(b); });
    for (const c10::OperatorName &name : names) {
        if (name.name.rfind("aten::", 0) != 0) continue;
        if (const auto op = c10::Dispatcher::singleton().findSchema(name)) register_operator(*library, *autograd, *op);
    }
    return nullptr;
} catch (const std::exception &error) {
    static std::string text;
    text = error.what();
    return text.c_str();
}

// One name per line: 0 computed, 1 composed of others, 2 refused, 3 computed while the call waits.
EXPORT const char *softacl_torch_operators(int list) {
    return list < 0 || list > 3 ? nullptr : softacl_torch::lists[static_cast<size_t>(list)].c_str();
}
