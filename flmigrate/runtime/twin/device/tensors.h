// Making, copying and re-viewing tensors: written by hand, as in Torch-FL.
#pragma once
#include <ATen/EmptyTensor.h>

#include "copies.h"
#include "hooks.h"
#include "routes.h"

namespace {

Device place_of(c10::optional<Device> device) {
  auto place = device.value_or(Device(kDevice));
  if (!place.has_index()) place = Device(kDevice, current_device);
  check_index(place.index());
  return place;
}

Tensor empty_memory_format(IntArrayRef size, c10::optional<ScalarType> dtype,
                               c10::optional<at::Layout>, c10::optional<Device> device,
                               c10::optional<bool>, c10::optional<at::MemoryFormat> format) {
  c10::DeviceGuard guard(place_of(device));
  return at::detail::empty_generic(size, &device_allocator, DispatchKeySet(DispatchKey::PrivateUse1),
                                   c10::dtype_or_default(dtype), format);
}

Tensor empty_strided(IntArrayRef size, IntArrayRef stride,
                         c10::optional<ScalarType> dtype, c10::optional<at::Layout>,
                         c10::optional<Device> device, c10::optional<bool>) {
  c10::DeviceGuard guard(place_of(device));
  return at::detail::empty_strided_generic(size, stride, &device_allocator,
                                           DispatchKeySet(DispatchKey::PrivateUse1),
                                           c10::dtype_or_default(dtype));
}

Tensor& copy_(Tensor& self, const Tensor& from, bool non_blocking) {
  if (asynchronous) return delayed_copy(self, from, non_blocking);
  bool here = is_on_device(self), there = is_on_device(from);
  auto to = here ? seen_from_cpu(self) : self;
  auto source = there ? seen_from_cpu(from) : from;
  at::AutoDispatchBelowADInplaceOrView below;
  double start = observing ? now_ms() : 0;
  to.copy_(source);
  if (observing) observe("copy_", "runtime", now_ms() - start, nullptr);
  return self;
}

Tensor copy_from(const Tensor& self, const Tensor& to, bool non_blocking) {
  auto target = to;
  return copy_(target, self, non_blocking);
}

Tensor copy_from_and_resize(const Tensor& self, const Tensor& to) {
  auto target = to;
  target.resize_(self.sizes());
  return copy_(target, self, false);
}

Tensor& set_storage(Tensor& self, at::Storage source, int64_t offset,
                        IntArrayRef size, IntArrayRef stride) {
  auto* impl = self.unsafeGetTensorImpl();
  TORCH_CHECK(source.device() == self.device(), "Attempted to set the storage of a tensor on device \"",
              self.device(), "\" to a storage on different device \"", source.device(), "\"");
  auto needed = at::detail::computeStorageNbytes(size, stride, self.dtype().itemsize(), offset);
  if (needed > source.nbytes()) hooks.resizePrivateUse1Bytes(source, needed);
  impl->set_storage_keep_dtype(std::move(source));
  impl->set_sizes_and_strides(size, stride, offset);
  return self;
}

Tensor& set_whole_storage(Tensor& self, at::Storage source) {
  auto count = static_cast<int64_t>(source.nbytes() / self.dtype().itemsize());
  return set_storage(self, std::move(source), 0, {count}, {1});
}

Tensor& set_tensor(Tensor& self, const Tensor& source) {
  return set_storage(self, source.storage(), source.storage_offset(), source.sizes(),
                     source.strides());
}

Tensor& set_empty(Tensor& self) {
  return set_storage(self, storage_over(cpu_storage(0), self.device().index()), 0, {0}, {1});
}

void record_stream(Tensor& self, at::Stream stream) {
  block_of(self.storage()).recorded.insert({stream.device_index(), stream.id()});
}

Tensor zeros(IntArrayRef size, c10::optional<ScalarType> dtype,
                 c10::optional<at::Layout> layout, c10::optional<Device> device,
                 c10::optional<bool> pin) {
  return at::zeros(size, dtype, layout, place_of(device), pin);
}

}  // namespace
