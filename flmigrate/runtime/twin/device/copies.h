// Copies in the asynchronous mode: in their stream's order, and to and from the host's memory.
#pragma once
#include "delayed.h"
#include "pinned.h"

namespace {

// Memory of the host that a queued copy is going to write: what it will hold. A program may copy
// it back to the device without waiting, where one stream has both copies in order.
struct InFlight {
  c10::Storage as_written;
  int64_t copies = 0;
};
std::unordered_map<c10::StorageImpl*, InFlight>& in_flight() {
  static auto* all = new std::unordered_map<c10::StorageImpl*, InFlight>;
  return *all;
}

Tensor as_written(const Tensor& host) {
  Hold hold(queues().lock);
  auto found = in_flight().find(host.storage().unsafeGetStorageImpl());
  return found == in_flight().end() ? host : seen_over(host, found->second.as_written);
}

void takes_off(const Tensor& host) {
  Hold hold(queues().lock);
  auto& flight = in_flight()[host.storage().unsafeGetStorageImpl()];
  if (++flight.copies == 1) {
    flight.as_written = cpu_storage(host.storage().nbytes());
    copy_bytes(flight.as_written, host.storage());
  }
}

void lands(const Tensor& host) {  // with the lock held
  auto found = in_flight().find(host.storage().unsafeGetStorageImpl());
  if (--found->second.copies == 0) in_flight().erase(found);
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  auto one = a.contiguous(), other = b.contiguous();
  return one.numel() == 0 || std::memcmp(one.const_data_ptr(), other.const_data_ptr(),
                                         one.numel() * one.itemsize()) == 0;
}

void upload(StreamKey stream, const Tensor& to, const Tensor& from, bool non_blocking) {
  auto snapshot = as_written(from).clone();
  seen_from_cpu(to).copy_(snapshot);
  auto late = seen_from_cpu(to, true);
  if (!non_blocking || !is_pinned(from.const_data_ptr())) {  // staged: the host may go on
    queue_work(stream, {"copy_", {touch(late, true)}, [=] { late.copy_(snapshot); }});
    if (!non_blocking) finish(stream, kAll);
    return;
  }
  auto host = seen_over(from, from.storage());
  auto place = observing ? place_now() : Place();
  queue_work(stream, {"copy_", {touch(late, true), touch(host, false)}, [=] {
                        late.copy_(host);
                        if (!same_bytes(host, snapshot)) ++queues().races[{"copy_", place, "", {}}];
                      }});
}

void download(StreamKey stream, const Tensor& to, const Tensor& from, bool non_blocking) {
  auto host = seen_over(to, to.storage());
  auto late = seen_from_cpu(from, true);
  std::vector<Touch> touches = {touch(late, false), touch(host, true)};
  if (!non_blocking) {
    queue_work(stream, {"copy_", touches, [=] { host.copy_(late); }});
    return finish(stream, kAll);
  }
  takes_off(host);
  auto right = as_written(host);
  right.copy_(seen_from_cpu(from));
  spoil(host, right);
  queue_work(stream, {"copy_", touches, [=] {
                        host.copy_(late);
                        lands(host);
                      }});
}

Tensor& delayed_copy(Tensor& self, const Tensor& from, bool non_blocking) {
  Alone alone;
  bool here = is_on_device(self), there = is_on_device(from);
  double start = observing ? now_ms() : 0;
  auto stream = stream_of((there ? from : self).device().index());
  if (!there) {
    upload(stream, self, from, non_blocking);
  } else if (!here) {
    download(stream, self, from, non_blocking);
  } else {
    seen_from_cpu(self).copy_(seen_from_cpu(from));
    auto to = seen_from_cpu(self, true), source = seen_from_cpu(from, true);
    queue_work(stream, {"copy_", {touch(to, true), touch(source, false)}, [=] { to.copy_(source); }});
  }
  if (observing) observe("copy_", "runtime", now_ms() - start, nullptr);
  return self;
}

}  // namespace
