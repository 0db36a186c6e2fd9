// Pinned memory: ordinary memory whose addresses are remembered.
#pragma once
#include <map>
#include <mutex>

#include "memory.h"

namespace {

std::mutex pinned_lock;
std::map<const char*, size_t> pinned_ranges;

struct Pinned {
  c10::DataPtr data;
};

struct PinnedAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t nbytes) override {
    auto data = c10::GetAllocator(c10::DeviceType::CPU)->allocate(nbytes);
    void* start = data.get();
    if (start != nullptr) {
      std::lock_guard<std::mutex> hold(pinned_lock);
      pinned_ranges[static_cast<char*>(start)] = nbytes;
    }
    auto* context = new Pinned{std::move(data)};
    return {start, context, &release, Device(c10::DeviceType::CPU)};
  }
  static void release(void* context) {
    auto* pinned = static_cast<Pinned*>(context);
    {
      std::lock_guard<std::mutex> hold(pinned_lock);
      pinned_ranges.erase(static_cast<const char*>(pinned->data.get()));
    }
    delete pinned;
  }
  void copy_data(void* to, const void* from, size_t count) const override {
    default_copy_data(to, from, count);
  }
};
PinnedAllocator pinned_allocator;

bool is_pinned(const void* data) {
  std::lock_guard<std::mutex> hold(pinned_lock);
  auto after = pinned_ranges.upper_bound(static_cast<const char*>(data));
  if (after == pinned_ranges.begin()) return false;
  auto& [start, nbytes] = *--after;
  return static_cast<const char*>(data) < start + nbytes;
}

}  // namespace
