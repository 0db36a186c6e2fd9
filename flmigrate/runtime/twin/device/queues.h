// The asynchronous mode: work is queued by stream, and done when something waits for it.
//
// Every kernel runs twice. At once, on the memory that there always is: this gives shapes, and the
// values as the program means them. And from its stream's queue, on a second memory (`late`), which
// is what the program gets to read. What nothing waits for is not done; where two streams touch the
// same memory and neither waits for the other, they are served in the wrong order, and told of.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>

#include "observation.h"

namespace {

// Of each stream, how many of its works come before.
using Clock = std::map<StreamKey, int64_t>;
constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

struct Touch {
  const char *first, *last;  // bytes of the late memory, or of the host's: from, and up to
  bool written;
};

struct Work {
  std::string what;  // an operator; empty: an event, or memory that is handed out again
  std::vector<Touch> touches;
  std::function<void()> run;
  Place place{};
  int64_t issued = 0;  // among all works
  StreamKey stream{};
  int64_t index = 0;  // in its stream, from 1
  Clock before{};
  bool started = false;
};

struct Queue {
  std::deque<std::shared_ptr<Work>> works;
  int64_t issued = 0, done = 0;
  Clock clock;
};

// An event: a position in a stream, and when it was reached.
struct Mark {
  StreamKey stream{};
  int64_t index = 0;
  Clock clock{};
  c10::optional<double> ms;
};

struct Race {
  std::string what;
  Place place;
  std::string other;
  Place other_place;
  bool operator<(const Race& than) const {
    return std::tie(what, place, other, other_place) <
           std::tie(than.what, than.place, than.other, than.other_place);
  }
};

// All of it is never freed, on purpose: memory is released after the statics of a library.
struct Queues {
  std::recursive_mutex lock;
  std::map<StreamKey, Queue> all;
  int64_t issued = 0;
  std::vector<const Work*> running;
  std::vector<std::shared_ptr<Work>> done;
  std::map<StreamKey, std::vector<c10::Storage>> freed;  // while another stream uses it
  std::map<Race, int64_t> races;
};
Queues& queues() {
  static auto* all = new Queues;
  return *all;
}
// Works are done on the CPU alone, whatever the thread that waits for them is in the middle of.
struct Alone : c10::impl::ForceDispatchKeyGuard {
  Alone()
      : ForceDispatchKeyGuard(
            DispatchKeySet(DispatchKey::BackendSelect),
            c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::default_excluded_set) {}
};

using Hold = std::lock_guard<std::recursive_mutex>;

Touch touch(const Tensor& view, bool written) {
  auto* first = static_cast<const char*>(view.const_data_ptr());
  int64_t last = view.numel() > 0 ? 1 : 0;
  for (int64_t dim = 0; last > 0 && dim < view.dim(); ++dim)
    last += (view.size(dim) - 1) * view.stride(dim);
  return {first, first + last * static_cast<int64_t>(view.itemsize()), written};
}

Touch touch(const c10::Storage& storage) {
  auto* first = static_cast<const char*>(storage.data());
  return {first, first + storage.nbytes(), true};
}

bool overlap(const Touch& a, const Touch& b) { return a.first < b.last && b.first < a.last; }

bool conflict(const Work& a, const Work& b) {
  for (const auto& one : a.touches)
    for (const auto& other : b.touches)
      if ((one.written || other.written) && overlap(one, other)) return true;
  return false;
}

bool waits_for(const Work& work, const Work& other) {
  auto found = work.before.find(other.stream);
  return found != work.before.end() && found->second >= other.index;
}

// A queue of a chip is not endless either, and works hold the memory that they are about.
constexpr size_t kDepth = 20000;
void finish(StreamKey stream, int64_t index);

std::shared_ptr<Work> queue_work(StreamKey stream, Work work) {
  if (observing && !work.what.empty()) work.place = place_now();
  std::shared_ptr<Work> queued;
  int64_t overdue = 0;
  {
    Hold hold(queues().lock);
    auto& queue = queues().all[stream];
    work.issued = ++queues().issued;
    work.stream = stream;
    work.index = ++queue.issued;
    work.before = queue.clock;
    queue.clock[stream] = work.index;
    queued = std::make_shared<Work>(std::move(work));
    queue.works.push_back(queued);
    if (queue.works.size() > kDepth) overdue = queue.done + kDepth / 2;
  }
  if (overdue != 0) finish(stream, overdue);
  return queued;
}

std::shared_ptr<Mark> marked(StreamKey stream) {
  auto mark = std::make_shared<Mark>();
  if (asynchronous) {
    auto work = queue_work(stream, {"", {}, [mark] { mark->ms = now_ms(); }});
    mark->stream = stream;
    mark->index = work->index;
    mark->clock = work->before;
    mark->clock[stream] = work->index;
  } else {
    mark->ms = now_ms();
  }
  return mark;
}

void wait_for(StreamKey stream, const Clock& clock) {
  if (!asynchronous) return;
  Hold hold(queues().lock);
  auto& own = queues().all[stream].clock;
  for (const auto& [other, index] : clock) own[other] = std::max(own[other], index);
}

// ---- doing what is queued ------------------------------------------------------------------

// Works of other streams that touch what a work touches, without an order between them.
std::vector<std::shared_ptr<Work>> rivals(const Work& work) {
  std::vector<std::shared_ptr<Work>> found;
  for (auto& [key, queue] : queues().all) {
    if (key == work.stream) continue;
    for (auto& other : queue.works) {
      if (waits_for(work, *other)) continue;
      if (waits_for(*other, work)) break;  // and so do those that come after it
      if (!other->started && conflict(work, *other)) found.push_back(other);
    }
  }
  return found;
}

void tell(const Work& work, const Work& other) {
  const auto& [first, second] = work.issued < other.issued ? std::tie(work, other)
                                                           : std::tie(other, work);
  ++queues().races[{second.what, second.place, first.what, first.place}];
}

bool can_run_now(const Work& work) {
  for (auto* running : queues().running)
    if (waits_for(work, *running)) return false;
  return true;
}

// Does a stream's works up to an index. What was issued later goes first where it may.
void advance(StreamKey stream, int64_t index) {
  auto& queue = queues().all[stream];
  while (queue.done < index && !queue.works.empty() && !queue.works.front()->started) {
    auto work = queue.works.front();
    for (const auto& [other, until] : work->before)
      if (other != stream) advance(other, until);
    work->started = true;
    queues().running.push_back(work.get());
    for (const auto& rival : rivals(*work)) {
      tell(*work, *rival);
      if (rival->issued > work->issued && !rival->started && can_run_now(*rival))
        advance(rival->stream, rival->index);
    }
    queues().running.pop_back();
    queue.works.pop_front();
    queue.done = work->index;
    try {
      work->run();
    } catch (const std::exception&) {
      // Only what was not waited for makes a kernel fail here that did not fail at once: what it
      // would have written stays unwritten, which shows.
    }
    queues().done.push_back(std::move(work));
  }
}

// Works may hold the last reference to a Python object, and so are let go outside of the lock.
void finish(const std::vector<StreamKey>& streams, int64_t index) {
  std::vector<std::shared_ptr<Work>> done;
  Alone alone;
  Hold hold(queues().lock);
  for (auto& stream : streams) advance(stream, index);
  done.swap(queues().done);
}

void finish(StreamKey stream, int64_t index) {
  if (asynchronous) finish(std::vector<StreamKey>{stream}, index);
}

void wait_for_device(DeviceIndex device) {
  if (!asynchronous) return;
  std::vector<StreamKey> streams;
  {
    Hold hold(queues().lock);
    for (auto& [stream, queue] : queues().all)
      if (device < 0 || stream.first == device) streams.push_back(stream);
  }
  finish(streams, kAll);
}

void wait_for_everything() { wait_for_device(-1); }

// Whether a stream has come so far: not yet the first time that something asks, when there is work.
bool reached(StreamKey stream, int64_t index) {
  if (!asynchronous) return true;
  {
    Hold hold(queues().lock);
    auto& queue = queues().all[stream];
    if (queue.done >= std::min(index, queue.issued)) return true;
  }
  finish(stream, index);
  return false;
}

// ---- memory that is used on several streams ------------------------------------------------

// Memory goes back to the stream that it was allocated on. Without record_stream() nothing keeps
// this stream from handing it out while another one uses it.
void released(const Block& block) {
  Hold hold(queues().lock);
  auto whole = touch(block.late);
  for (auto& [stream, queue] : queues().all) {
    if (stream == block.home || block.recorded.count(stream) != 0) continue;
    for (auto& work : queue.works)
      for (const auto& one : work->touches)
        if (overlap(one, whole)) {
          queues().freed[block.home].push_back(block.late);
          return;
        }
  }
}

void allocates(StreamKey stream) {
  Hold hold(queues().lock);
  auto found = queues().freed.find(stream);
  if (found == queues().freed.end()) return;
  auto all = std::move(found->second);
  queues().freed.erase(found);
  for (auto& late : all)
    queue_work(stream, {"", {touch(late)}, [late] {
                          std::memset(const_cast<void*>(late.data()), kUnwritten, late.nbytes());
                        }});
}

}  // namespace
