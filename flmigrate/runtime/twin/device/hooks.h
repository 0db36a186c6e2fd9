// What torch asks a device for beside operators.
#pragma once
#include <ATen/detail/PrivateUse1HooksInterface.h>

#include "pinned.h"
#include "random.h"

namespace {

struct FlagosHooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return device_count > 0; }
  bool hasPrimaryContext(DeviceIndex) const override { return true; }
  void init() const override {}
  DeviceIndex deviceCount() const override { return static_cast<DeviceIndex>(device_count.load()); }
  void setCurrentDevice(DeviceIndex index) const override {
    check_index(index);
    current_device = index;
  }
  DeviceIndex getCurrentDevice() const override { return current_device; }
  DeviceIndex exchangeDevice(DeviceIndex index) const override {
    auto before = current_device;
    setCurrentDevice(index);
    return before;
  }
  DeviceIndex maybeExchangeDevice(DeviceIndex index) const override {
    return index < 0 ? current_device : exchangeDevice(index);
  }
  bool isPinnedPtr(const void* data) const override { return is_pinned(data); }
  at::Allocator* getPinnedMemoryAllocator() const override { return &pinned_allocator; }
  Device getDeviceFromPtr(void*) const override { return {kDevice, current_device}; }
  const at::Generator& getDefaultGenerator(DeviceIndex index) const override {
    thread_local at::Generator last;
    return last = default_generator(index);
  }
  at::Generator getNewGenerator(DeviceIndex index) const override {
    return at::make_generator<FlagosGenerator>(index < 0 ? current_device : index,
                                               at::detail::createCPUGenerator());
  }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t nbytes) const override {
    auto cpu = cpu_storage(nbytes);
    auto kept = std::min(nbytes, storage.nbytes());
    if (kept > 0) std::memcpy(cpu.mutable_data(), storage.data(), kept);
    follow(storage, cpu);
  }
};
FlagosHooks hooks;

}  // namespace
