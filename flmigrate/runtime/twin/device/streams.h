// Streams and events, and the guard by which torch switches devices and streams.
#pragma once
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "queues.h"

namespace {

std::atomic<c10::StreamId> last_stream{0};

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
    delete static_cast<std::shared_ptr<Mark>*>(event);
  }
  void record(void** event, const c10::Stream& stream, DeviceIndex,
              c10::EventFlag) const override {
    if (*event == nullptr) *event = new std::shared_ptr<Mark>;
    of(*event) = marked(key_of(stream));
  }
  void block(void* event, const c10::Stream& stream) const override {
    wait_for(key_of(stream), of(event)->clock);
  }
  bool queryEvent(void* event) const override {
    return reached(of(event)->stream, of(event)->index);
  }
  DeviceIndex deviceCount() const noexcept override {
    return static_cast<DeviceIndex>(device_count.load());
  }
  c10::DeviceCapability getDeviceCapability(Device) const override { return {}; }
  bool queryStream(const c10::Stream& stream) const override {
    return reached(key_of(stream), kAll);
  }
  void synchronizeStream(const c10::Stream& stream) const override { finish(key_of(stream), kAll); }
  void synchronizeEvent(void* event) const override {
    finish(of(event)->stream, of(event)->index);
  }
  void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const override {
    if (data.get_deleter() == &free_block)
      static_cast<Block*>(data.get_context())->recorded.insert(key_of(stream));
  }
  double elapsedTime(void* first, void* second, DeviceIndex) const override {
    TORCH_CHECK(first && second, "Both events must be recorded before calculating elapsed time.");
    TORCH_CHECK(of(first)->ms && of(second)->ms,
                "Both events must be completed before calculating elapsed time.");
    return *of(second)->ms - *of(first)->ms;
  }
  // synchronizeDevice is left out, as in Torch-FL: torch.accelerator.synchronize() raises.

 private:
  static std::shared_ptr<Mark>& of(void* event) {
    return *static_cast<std::shared_ptr<Mark>*>(event);
  }
  static StreamKey key_of(const c10::Stream& stream) {
    return {stream.device_index(), stream.id()};
  }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, FlagosGuard)

}  // namespace
