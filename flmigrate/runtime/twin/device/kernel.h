// The one kernel: the CPU's, on tensors that are looked at as the CPU's.
#pragma once
#include <unordered_map>
#include <unordered_set>

#include "numerics.h"
#include "observation.h"
#include "random.h"

namespace {

struct Given {
  Tensor device;  // the argument, on flagos
  Tensor cpu;     // the same bytes, as the CPU's kernel sees them
  bool written;
};

// A tensor of the CPU with another one's shape and dtype, over a storage.
Tensor seen_over(const Tensor& tensor, const c10::Storage& storage) {
  auto* from = tensor.unsafeGetTensorImpl();
  auto view = at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(storage),
                                                       DispatchKeySet(DispatchKey::CPU),
                                                       tensor.dtype());
  auto* to = view.unsafeGetTensorImpl();
  to->set_sizes_and_strides(from->sizes(), from->strides(), from->storage_offset());
  if (from->is_wrapped_number()) to->set_wrapped_number(true);
  if (tensor.is_conj()) view._set_conj(true);
  if (tensor.is_neg()) view._set_neg(true);
  return view;
}

// The same bytes, or those of the second memory (queues.h), as the CPU's kernel sees them.
Tensor seen_from_cpu(const Tensor& tensor, bool late = false) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      tensor.has_storage() && tensor.layout() == c10::kStrided,
      "flagos: tensors with the layout ", tensor.layout(), " are not supported");
  auto& block = block_of(tensor.storage());
  return seen_over(tensor, late ? block.late : block.cpu);
}

Tensor on_device(const c10::Storage& storage, const Tensor& cpu) {
  auto made = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage), DispatchKeySet(DispatchKey::PrivateUse1), cpu.dtype());
  auto* impl = made.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(cpu.sizes(), cpu.strides(), cpu.storage_offset());
  if (cpu.unsafeGetTensorImpl()->is_wrapped_number()) impl->set_wrapped_number(true);
  if (cpu.is_conj()) made._set_conj(true);
  if (cpu.is_neg()) made._set_neg(true);
  return made;
}

// A view of a tensor on the device: it shares the storage, and the keys, since a view of a tensor
// with a history made in inference mode has one too.
Tensor view_of(const Tensor& base, const Tensor& cpu) {
  auto made = at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW,
                                                       c10::Storage(base.storage()),
                                                       base.key_set(), cpu.dtype());
  made.unsafeGetTensorImpl()->set_sizes_and_strides(cpu.sizes(), cpu.strides(),
                                                    cpu.storage_offset());
  made._set_conj(cpu.is_conj());
  made._set_neg(cpu.is_neg());
  return made;
}

// Whether an operator takes a tensor of the CPU beside those of the device, as CUDA's do.
bool may_be_on_cpu(const std::string& op, const std::string& argument) {
  static const std::unordered_set<std::string> any = {
      "aten::copy_", "aten::_copy_from", "aten::_copy_from_and_resize", "aten::is_pinned",
      "aten::set_"};
  static const std::unordered_set<std::string> indexed = {
      "aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_",
      "aten::_unsafe_index", "aten::_unsafe_index_put"};
  if (any.count(op) != 0) return true;
  if (argument == "indices") return indexed.count(op) != 0;
  return argument == "lengths" || argument == "scalars" || argument == "batch_sizes";
}

// A launch takes numbers of the host along: the host may change them afterwards.
Tensor kept(const Tensor& host) {
  auto copy = host.clone();
  if (host.unsafeGetTensorImpl()->is_wrapped_number())
    copy.unsafeGetTensorImpl()->set_wrapped_number(true);
  return copy;
}

struct Call {
  const c10::OperatorHandle& op;
  bool late = false;  // on the second memory, some time from now
  std::vector<Given> given;
  std::unordered_set<c10::TensorImpl*> untouched;  // arguments that are on the CPU
  c10::optional<Device> device;
  const char* misplaced = nullptr;
  bool results_on_cpu = false;

  Tensor enter(const Tensor& tensor, const c10::Argument& argument) {
    if (!tensor.defined()) return tensor;
    if (tensor.device().type() == kDevice) {
      if (!device) device = tensor.device();
      TORCH_CHECK(
          *device == tensor.device() || may_be_on_cpu(op.schema().name(), argument.name()),
          "Expected all tensors to be on the same device, but found at least two devices, ",
          *device, " and ", tensor.device(), "!");
      auto* info = argument.alias_info();
      given.push_back({tensor, seen_from_cpu(tensor, late), info != nullptr && info->isWrite()});
      return given.back().cpu;
    }
    untouched.insert(tensor.unsafeGetTensorImpl());
    if (tensor.dim() > 0 && !may_be_on_cpu(op.schema().name(), argument.name()))
      misplaced = argument.name().c_str();
    return late ? kept(tensor) : tensor;
  }

  void enter(IValue& value, const c10::Argument& argument) {
    if (value.isTensor()) {
      value = enter(value.toTensor(), argument);
    } else if (value.isTensorList()) {
      auto list = value.toTensorVector();
      for (auto& tensor : list) tensor = enter(tensor, argument);
      value = c10::List<Tensor>(std::move(list));
    } else if (value.isOptionalTensorList()) {
      c10::List<c10::optional<Tensor>> list;
      for (c10::optional<Tensor> tensor : value.toOptionalTensorList())
        list.push_back(tensor ? c10::optional<Tensor>(enter(*tensor, argument)) : tensor);
      value = std::move(list);
    } else if (value.isDevice()) {
      auto wanted = value.toDevice();
      if (wanted.type() == kDevice) {
        device = wanted.has_index() ? wanted : Device(kDevice, current_device);
        check_index(device->index());
      } else {
        results_on_cpu = true;
      }
      value = Device(c10::DeviceType::CPU);
    } else if (value.isGenerator()) {
      auto generator = value.toGenerator();
      if (generator.defined() && generator.device().type() == kDevice) {
        auto cpu = static_cast<FlagosGenerator*>(generator.unsafeGetGeneratorImpl())->cpu;
        value = late ? cpu.clone() : cpu;
      } else if (generator.defined())
        TORCH_CHECK(false, "Expected a '", Device(kDevice).str(),
                    "' device type for generator but found '", generator.device().type(), "'");
    }
  }

  void settle() {
    for (auto& [tensor, cpu, written] : given) {
      if (!written) continue;
      follow(tensor.storage(), cpu.storage());
      auto* impl = tensor.unsafeGetTensorImpl();
      if (impl->sizes() != cpu.sizes() || impl->strides() != cpu.strides() ||
          impl->storage_offset() != cpu.storage_offset())
        impl->set_sizes_and_strides(cpu.sizes(), cpu.strides(), cpu.storage_offset());
    }
  }

  Tensor leave(const Tensor& result,
                   std::unordered_map<c10::StorageImpl*, c10::Storage>& made) {
    if (!result.defined()) return result;
    auto* impl = result.unsafeGetTensorImpl();
    for (auto& one : given)
      if (one.cpu.unsafeGetTensorImpl() == impl) return one.device;
    if (results_on_cpu || untouched.count(impl) != 0) return result;
    TORCH_CHECK_NOT_IMPLEMENTED(
        result.has_storage() && result.layout() == c10::kStrided && !result.is_quantized(),
        "Could not run '", op.schema().name(), "' with arguments from the 'SparsePrivateUse1' or "
        "'QuantizedPrivateUse1' backend: flagos has dense tensors only.");
    auto* storage = result.storage().unsafeGetStorageImpl();
    for (auto& one : given)
      if (block_of(one.device.storage()).cpu.unsafeGetStorageImpl() == storage)
        return view_of(one.device, result);
    auto& own = made[storage];
    if (!own) {
      auto index = device ? device->index() : current_device;
      own = storage_over(result.storage(), index);
    }
    return on_device(own, result);
  }
};

// Replaces each tensor that an operator gave back.
template <class Function>
void each_result(const c10::OperatorHandle& op, Stack* stack, Function change) {
  size_t results = op.schema().returns().size();
  for (size_t i = stack->size() - results; i < stack->size(); ++i) {
    IValue& value = (*stack)[i];
    if (value.isTensor()) {
      value = change(value.toTensor());
    } else if (value.isTensorList()) {
      auto list = value.toTensorVector();
      for (auto& tensor : list) tensor = change(tensor);
      value = c10::List<Tensor>(std::move(list));
    }
  }
}

// Computes at once, on the memory that there always is.
void compute(const c10::OperatorHandle& op, Stack* stack) {
  const auto& arguments = op.schema().arguments();
  size_t first = stack->size() - arguments.size();
  Call call{op};
  for (size_t i = 0; i < arguments.size(); ++i) call.enter((*stack)[first + i], arguments[i]);
  TORCH_CHECK(
      call.misplaced == nullptr || call.given.empty(),
      "Expected all tensors to be on the same device, but found at least two devices, ",
      call.device.value_or(Device(kDevice, 0)), " and cpu! (when checking argument ",
      call.misplaced == nullptr ? "" : call.misplaced, " of ", op.schema().name(), ")");
  {
    at::AutoDispatchBelowADInplaceOrView below;
    apply_numerics(op, stack);
    op.redispatchBoxed(DispatchKeySet(DispatchKey::CPU), stack);
  }
  call.settle();
  std::unordered_map<c10::StorageImpl*, c10::Storage> made;
  each_result(op, stack, [&](const Tensor& result) { return call.leave(result, made); });
}

}  // namespace
