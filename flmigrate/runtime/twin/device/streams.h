// Streams and events, and the guard by which torch switches devices and streams.
#pragma once
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <chrono>
#include <mutex>

#include "memory.h"
namespace {

thread_local c10::StreamId current_stream[kMaxDevices];
std::atomic<c10::StreamId> last_stream{0};

double now_ms() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

// Copies to the host that were asked for with non_blocking=True in the asynchronous mode: their
// bytes arrive when something waits for the device.
std::atomic<bool> asynchronous{false};
std::mutex pending_lock;
std::vector<std::pair<Tensor, Tensor>> pending;  // to, from: both of the CPU

void wait_for_device() {
  std::vector<std::pair<Tensor, Tensor>> due;
  {
    std::lock_guard<std::mutex> hold(pending_lock);
    due.swap(pending);
  }
  if (due.empty()) return;
  at::AutoDispatchBelowADInplaceOrView below;
  for (auto& [to, from] : due) to.copy_(from);
}

struct FlagosGuard final : c10::impl::DeviceGuardImplInterface {
  static constexpr c10::DeviceType static_type = kDevice;
  c10::DeviceType type() const override { return kDevice; }
  Device exchangeDevice(Device device) const override {
    auto before = getDevice();
    setDevice(device);
    return before;
  }
  Device getDevice() const override { return {kDevice, current_device}; }
  void setDevice(Device device) const override {
    if (!device.has_index()) return;
    check_index(device.index());
    current_device = device.index();
  }
  void uncheckedSetDevice(Device device) const noexcept override {
    if (device.has_index()) current_device = device.index();
  }
  c10::Stream getStream(Device device) const override {
    auto index = device.has_index() ? device.index() : current_device;
    return c10::Stream(c10::Stream::UNSAFE, Device(kDevice, index), current_stream[index]);
  }
  c10::Stream getDefaultStream(Device device) const override {
    return c10::Stream(c10::Stream::DEFAULT, device.has_index() ? device : getDevice());
  }
  c10::Stream getStreamFromGlobalPool(Device device, bool) const override {
    return getNewStream(device, 0);
  }
  c10::Stream getNewStream(Device device, int) const override {
    return c10::Stream(c10::Stream::UNSAFE, device.has_index() ? device : getDevice(),
                       ++last_stream);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    auto before = getStream(stream.device());
    current_stream[stream.device_index()] = stream.id();
    return before;
  }
  void destroyEvent(void* event, DeviceIndex) const noexcept override {
    delete static_cast<double*>(event);
  }
  void record(void** event, const c10::Stream&, DeviceIndex, c10::EventFlag) const override {
    if (*event == nullptr) *event = new double;
    *static_cast<double*>(*event) = now_ms();
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  DeviceIndex deviceCount() const noexcept override {
    return static_cast<DeviceIndex>(device_count.load());
  }
  c10::DeviceCapability getDeviceCapability(Device) const override { return {}; }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override { wait_for_device(); }
  void synchronizeEvent(void*) const override { wait_for_device(); }
  double elapsedTime(void* first, void* second, DeviceIndex) const override {
    TORCH_CHECK(first && second, "Both events must be recorded before calculating elapsed time.");
    return *static_cast<double*>(second) - *static_cast<double*>(first);
  }
  // synchronizeDevice is left out, as in Torch-FL: torch.accelerator.synchronize() raises.
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, FlagosGuard)

}  // namespace
