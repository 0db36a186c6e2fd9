// The generators of the device.
#pragma once
#include <ATen/CPUGeneratorImpl.h>

#include "memory.h"

namespace {

// The generator of the device draws from one of the CPU. The default ones draw from the CPU's
// default one, so that a program draws the numbers here that it draws on the CPU.
struct FlagosGenerator final : c10::GeneratorImpl {
  explicit FlagosGenerator(DeviceIndex device, at::Generator source)
      : c10::GeneratorImpl(Device(kDevice, device), DispatchKeySet(DispatchKey::PrivateUse1)),
        cpu(std::move(source)) {}
  void set_current_seed(uint64_t seed) override { cpu.set_current_seed(seed); }
  void set_offset(uint64_t offset) override { cpu.set_offset(offset); }
  uint64_t get_offset() const override { return cpu.get_offset(); }
  uint64_t current_seed() const override { return cpu.current_seed(); }
  uint64_t seed() override { return cpu.seed(); }
  void set_state(const c10::TensorImpl& state) override {
    cpu.unsafeGetGeneratorImpl()->set_state(state);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return cpu.unsafeGetGeneratorImpl()->get_state();
  }
  FlagosGenerator* clone_impl() const override {
    return new FlagosGenerator(device().index(), cpu.clone());
  }
  static c10::DeviceType device_type() { return kDevice; }
  at::Generator cpu;
};

at::Generator default_generator(DeviceIndex index) {
  static std::vector<at::Generator> all = [] {
    std::vector<at::Generator> made;
    for (int i = 0; i < kMaxDevices; ++i)
      made.push_back(
          at::make_generator<FlagosGenerator>(i, at::detail::getDefaultCPUGenerator()));
    return made;
  }();
  if (index < 0) index = current_device;
  check_index(index);
  return all[index];
}

}  // namespace
