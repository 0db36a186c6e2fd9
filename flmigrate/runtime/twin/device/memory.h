// Devices and their memory, which is the CPU's.
#pragma once
#include <ATen/ATen.h>
#include <ATen/core/operator_name.h>

#include <atomic>
#include <cstring>
#include <set>
#include <string>

namespace {

using at::IntArrayRef;
using at::Scalar;
using at::ScalarType;
using at::Tensor;
using c10::Device;
using c10::DeviceIndex;
using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::IValue;
using torch::jit::Stack;

constexpr auto kDevice = c10::DeviceType::PrivateUse1;
constexpr int kMaxDevices = 16;

std::atomic<int> device_count{1};
thread_local DeviceIndex current_device = 0;
std::atomic<int64_t> allocated[kMaxDevices];
std::atomic<int64_t> peak[kMaxDevices];
std::atomic<int64_t> blocks_made[kMaxDevices];
std::atomic<int64_t> blocks_freed[kMaxDevices];

void check_index(int64_t index) {
  TORCH_CHECK(index >= 0 && index < device_count, "invalid device ordinal ", index, ": there ",
              device_count == 1 ? "is " : "are ", device_count.load(), " flagos device",
              device_count == 1 ? "" : "s");
}

c10::Storage cpu_storage(size_t nbytes) {
  auto* allocator = c10::GetAllocator(c10::DeviceType::CPU);
  return c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), nbytes, allocator->allocate(nbytes), allocator, true);
}

// The name of an operator without `aten::`, with its overload after a dot.
c10::OperatorName operator_of(const std::string& op) {
  auto dot = op.find('.');
  return {"aten::" + op.substr(0, dot), dot == std::string::npos ? "" : op.substr(dot + 1)};
}

// A stream: the index of its device, and its number there.
using StreamKey = std::pair<DeviceIndex, c10::StreamId>;
thread_local c10::StreamId current_stream[kMaxDevices];

StreamKey stream_of(DeviceIndex device) { return {device, current_stream[device]}; }

// What a storage on the device holds: the CPU's storage over the same bytes. In the asynchronous
// mode there is a second memory, `late`: what the queues have written so far (queues.h).
struct Block {
  c10::Storage cpu;
  int64_t nbytes;
  DeviceIndex device;
  c10::Storage late;
  StreamKey home;                // where it was allocated
  std::set<StreamKey> recorded;  // by record_stream
};

// Set once, before there is any memory.
std::atomic<bool> asynchronous{false};
void wait_for_everything();
void released(const Block& block);
void allocates(StreamKey stream);

constexpr int kUnwritten = 0xff;  // NaN in every floating dtype

void free_block(void* context) {
  auto* block = static_cast<Block*>(context);
  allocated[block->device] -= block->nbytes;
  ++blocks_freed[block->device];
  if (block->late) released(*block);
  delete block;
}

c10::DataPtr block_over(c10::Storage cpu, DeviceIndex device) {
  auto nbytes = static_cast<int64_t>(cpu.nbytes());
  void* data = cpu.mutable_data();
  ++blocks_made[device];
  int64_t now = allocated[device] += nbytes;
  int64_t seen = peak[device];
  while (seen < now && !peak[device].compare_exchange_weak(seen, now)) {
  }
  auto* block = new Block{std::move(cpu), nbytes, device};
  if (asynchronous) {
    block->home = stream_of(device);
    allocates(block->home);
    block->late = cpu_storage(nbytes);
    if (nbytes > 0) std::memset(block->late.mutable_data(), kUnwritten, nbytes);
  }
  return {data, block, &free_block, Device(kDevice, device)};
}

struct FlagosAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t nbytes) override {
    return block_over(cpu_storage(nbytes), current_device);
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* to, const void* from, size_t count) const override {
    default_copy_data(to, from, count);
  }
};
FlagosAllocator device_allocator;
REGISTER_ALLOCATOR(kDevice, &device_allocator)

Block& block_of(const c10::Storage& storage) {
  const auto& data = storage.data_ptr();
  TORCH_CHECK(data.get_deleter() == &free_block, "flagos: a storage without memory");
  return *static_cast<Block*>(data.get_context());
}

c10::Storage storage_over(c10::Storage cpu, DeviceIndex device) {
  size_t nbytes = cpu.nbytes();
  return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), nbytes,
                                               block_over(std::move(cpu), device),
                                               &device_allocator, true);
}

// The CPU's storage may have been resized below the device's: follow it.
void follow(const c10::Storage& storage, const c10::Storage& cpu) {
  auto* impl = storage.unsafeGetStorageImpl();
  if (impl->nbytes() == cpu.nbytes() && impl->data() == cpu.data()) return;
  auto device = impl->device().index();
  auto late = block_of(storage).late;
  if (late) wait_for_everything();
  impl->set_data_ptr_noswap(block_over(cpu, device));
  impl->set_nbytes(cpu.nbytes());
  auto kept = late ? std::min(late.nbytes(), cpu.nbytes()) : 0;
  if (kept > 0) std::memcpy(block_of(storage).late.mutable_data(), late.data(), kept);
}

}  // namespace
