// Shapes of results before they are computed, by the meta kernels of PyTorch.

#include <Python.h>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DefaultDtype.h>

#include <mutex>
#include <unordered_map>

#include "kernels.h"

namespace softacl_torch {
namespace {

// Shapes that are kept. Programs use few; one whose shapes always change begins again.
constexpr size_t MAX_CACHED = 1 << 16;

std::mutex lock;
std::unordered_map<std::string, std::shared_ptr<const Shapes>> cache;

// Appends the bytes of a value.
template <typename T>
void append(std::string &key, const T &value) {
    key.append(reinterpret_cast<const char *>(&value), sizeof value);
}

void append_tensor(std::string &key, const at::Tensor &tensor) {
    if (!tensor.defined()) {
        key.push_back('u');
        return;
    }
    const auto *impl = tensor.unsafeGetTensorImpl();
    key.push_back(tensor.is_privateuseone() ? 'd' : 'h');
    key.push_back(static_cast<char>(tensor.scalar_type()));
    key.push_back(static_cast<char>(impl->is_wrapped_number() | tensor.is_conj() << 1 | tensor.is_neg() << 2));
    key.push_back(static_cast<char>(tensor.dim()));
    for (const int64_t size : tensor.sizes()) append(key, size);
    for (const int64_t stride : tensor.strides()) append(key, stride);
}

// Appends a value. Returns false for one that has no key.
bool append_value(std::string &key, const c10::IValue &value) {
    if (value.isTensor()) {
        append_tensor(key, value.toTensor());
    } else if (value.isNone()) {
        key.push_back('n');
    } else if (value.isBool()) {
        key.push_back(value.toBool() ? 't' : 'f');
    } else if (value.isInt()) {
        key.push_back('i');
        append(key, value.toInt());
    } else if (value.isDouble()) {
        key.push_back('r');
        append(key, value.toDouble());
    } else if (value.isComplexDouble()) {
        key.push_back('c');
        append(key, value.toComplexDouble());
    } else if (value.isString()) {
        key.push_back('s');
        append(key, value.toStringRef().size());
        key.append(value.toStringRef());
    } else if (value.isDevice()) {
        key.push_back('v');
        append(key, static_cast<int>(value.toDevice().type()));
    } else if (value.isGenerator()) {
        key.push_back('g');
    } else if (value.isList()) {
        const auto list = value.toListRef();
        key.push_back('l');
        append(key, list.size());
        for (const c10::IValue &item : list) {
            if (!append_value(key, item)) return false;
        }
    } else {
        return false;
    }
    return true;
}

// Meta tensors in place of device tensors; one for each, so that a tensor that is given twice stays one tensor.
class MetaTensors {
public:
    at::Tensor of(const at::Tensor &tensor) {
        if (!tensor.defined() || (!is_device(tensor) && tensor.dim() == 0)) return tensor;
        for (const auto &[known, meta] : made_) {
            if (known.is_same(tensor)) return meta;
        }
        at::Tensor meta = at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta));
        auto *impl = meta.unsafeGetTensorImpl();
        if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) impl->set_wrapped_number(true);
        if (tensor.is_conj()) impl->_set_conj(true);
        if (tensor.is_neg()) impl->_set_neg(true);
        made_.emplace_back(tensor, meta);
        return meta;
    }

    c10::IValue of(const c10::IValue &value) {
        if (value.isTensor()) return of(value.toTensor());
        if (value.isDevice()) return c10::Device(c10::kMeta);
        if (value.isGenerator()) return {};
        if (value.isTensorList()) {
            c10::List<at::Tensor> list;
            for (const at::Tensor &tensor : value.toTensorVector()) list.push_back(of(tensor));
            return list;
        }
        if (value.isOptionalTensorList()) {
            c10::List<std::optional<at::Tensor>> list;
            for (const std::optional<at::Tensor> &tensor : value.toOptionalTensorList()) {
                list.push_back(tensor && tensor->defined() ? std::optional<at::Tensor>(of(*tensor)) : std::nullopt);
            }
            return list;
        }
        return value;
    }

private:
    std::vector<std::pair<at::Tensor, at::Tensor>> made_;
};

Shape shape_of(const at::Tensor &tensor) {
    if (!tensor.defined()) return {};
    Shape shape{true, tensor.scalar_type(), Sizes(tensor.sizes()), Sizes(tensor.strides())};
    // Elements that share memory cannot be written one by one.
    if (!tensor.is_non_overlapping_and_dense()) {
        int64_t stride = 1;
        for (size_t at = shape.sizes.size(); at-- > 0;) {
            shape.strides[at] = stride;
            stride *= std::max<int64_t>(shape.sizes[at], 1);
        }
    }
    return shape;
}

void call_meta(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::Meta), stack);
}

// Loads the meta kernels that PyTorch has in Python. They need a second to load and few programs need them.
void load_python_kernels() {
    static std::once_flag once;
    std::call_once(once, [] {
        const PyGILState_STATE state = PyGILState_Ensure();
        PyObject *module = PyImport_ImportModule("torch._meta_registrations");
        if (module == nullptr) PyErr_Print();
        Py_XDECREF(module);
        PyGILState_Release(state);
    });
}

std::shared_ptr<const Shapes> infer(const c10::OperatorHandle &op, const torch::jit::Stack &arguments) {
    MetaTensors metas;
    torch::jit::Stack stack;
    stack.reserve(arguments.size());
    for (const c10::IValue &argument : arguments) stack.push_back(metas.of(argument));
    const torch::jit::Stack given = stack;
    {
        PlainDispatch plain;
        at::NoGradGuard no_grad;
        call_meta(op, &stack);
    }
    auto shapes = std::make_shared<Shapes>(*shapes_of(op, stack));
    for (size_t index = 0; index < arguments.size(); ++index) {
        if (!arguments[index].isTensor() || !is_device(arguments[index].toTensor())) continue;
        const at::Tensor &meta = given[index].toTensor();
        if (meta.sizes() != arguments[index].toTensor().sizes()) shapes->resized.emplace_back(index, shape_of(meta));
    }
    return shapes;
}

}  // namespace

std::optional<size_t> returned_argument(const c10::FunctionSchema &schema, size_t index) {
    const auto *alias = schema.returns()[index].alias_info();
    if (alias == nullptr || !alias->isWrite()) return std::nullopt;
    for (size_t argument = 0; argument < schema.arguments().size(); ++argument) {
        const auto *other = schema.arguments()[argument].alias_info();
        if (other != nullptr && other->beforeSets() == alias->beforeSets()) return argument;
    }
    return std::nullopt;
}

std::shared_ptr<const Shapes> shapes_of(const c10::OperatorHandle &op, const torch::jit::Stack &returned) {
    auto shapes = std::make_shared<Shapes>();
    const auto &schema = op.schema();
    TORCH_CHECK(returned.size() == schema.returns().size(), "the kernel returned ", returned.size(), " values");
    for (size_t index = 0; index < returned.size(); ++index) {
        Return each;
        if (const auto argument = returned_argument(schema, index)) {
            each.kind = Return::Argument;
            each.argument = *argument;
        } else if (returned[index].isTensor()) {
            each.shapes.push_back(shape_of(returned[index].toTensor()));
        } else if (returned[index].isTensorList()) {
            each.kind = Return::TensorList;
            for (const at::Tensor &tensor : returned[index].toTensorVector()) each.shapes.push_back(shape_of(tensor));
        } else {
            TORCH_CHECK_NOT_IMPLEMENTED(false, "a value that is not a tensor");
        }
        shapes->returns.push_back(std::move(each));
    }
    return shapes;
}

std::string shape_key(const c10::OperatorHandle &op, const torch::jit::Stack &arguments) {
    std::string key;
    key.reserve(256);
    append(key, &op.schema());
    key.push_back(static_cast<char>(c10::get_default_dtype_as_scalartype()));
    for (const c10::IValue &argument : arguments) {
        if (!append_value(key, argument)) return {};
    }
    return key;
}

std::shared_ptr<const Shapes> cached_shapes(const std::string &key) {
    if (key.empty()) return nullptr;
    const std::lock_guard<std::mutex> guard(lock);
    const auto found = cache.find(key);
    return found == cache.end() ? nullptr : found->second;
}

void cache_shapes(const std::string &key, std::shared_ptr<const Shapes> shapes) {
    if (key.empty()) return;
    const std::lock_guard<std::mutex> guard(lock);
    if (cache.size() >= MAX_CACHED) cache.clear();
    cache[key] = std::move(shapes);
}

std::shared_ptr<const Shapes> infer_shapes(const c10::OperatorHandle &op, const torch::jit::Stack &arguments,
                                           const std::string &key, std::exception_ptr *reason) {
    if (auto cached = cached_shapes(key)) return cached;
    std::shared_ptr<const Shapes> shapes;
    try {
        shapes = infer(op, arguments);
    } catch (...) {
        load_python_kernels();
        try {
            shapes = infer(op, arguments);
        } catch (...) {
            *reason = std::current_exception();
            return nullptr;
        }
    }
    cache_shapes(key, shapes);
    return shapes;
}

}  // namespace softacl_torch
