// A kernel in the asynchronous mode: at once for its shapes, and queued for its values.
#pragma once
#include "kernel.h"
#include "queues.h"

namespace {

// Gives a tensor values that none of its elements will have.
void spoil(const Tensor& tensor, const Tensor& right) {
  if (at::isFloatingType(tensor.scalar_type()) || at::isComplexType(tensor.scalar_type()))
    tensor.fill_(std::numeric_limits<double>::quiet_NaN());
  else if (tensor.scalar_type() == ScalarType::Bool)
    tensor.copy_(right.logical_not());
  else
    tensor.copy_(right.bitwise_not());
}

void copy_bytes(const c10::Storage& to, const c10::Storage& from) {
  auto count = std::min(to.nbytes(), from.nbytes());
  if (count > 0) std::memcpy(const_cast<void*>(to.data()), from.data(), count);
}

// The second memory of a tensor takes over what was computed at once.
void adopt(const Tensor& tensor) {
  auto& block = block_of(tensor.storage());
  copy_bytes(block.late, block.cpu);
}

bool is_on_device(const Tensor& tensor) {
  return tensor.defined() && tensor.device().type() == kDevice;
}

// Whether the host gets to know something of a tensor's values: a number, or how many there are.
bool tells_the_host(const c10::OperatorHandle& op) {
  if (op.hasTag(at::Tag::dynamic_output_shape) || op.hasTag(at::Tag::data_dependent_output))
    return true;
  for (const auto& result : op.schema().returns()) {
    auto kind = result.type()->kind();
    if (kind != c10::TypeKind::TensorType && kind != c10::TypeKind::ListType) return true;
  }
  return false;
}

void compute_after(StreamKey stream, const Call& call, Stack* stack) {
  finish(stream, kAll);
  for (const auto& one : call.given) {
    auto& block = block_of(one.device.storage());
    copy_bytes(block.cpu, block.late);
  }
  compute(call.op, stack);
  for (const auto& one : call.given)
    if (one.written) adopt(one.device);
  each_result(call.op, stack, [](const Tensor& result) {
    if (is_on_device(result)) adopt(result);
    return result;
  });
}

// What is computed later: arguments on the second memory, and where the results go.
struct Later {
  c10::OperatorHandle op;
  Stack stack;
  std::vector<Tensor> results;  // undefined: a view of an argument, or the argument
  Tensor generator_state;       // of the CPU's default generator, for what draws from it

  void run() {
    at::Generator generator;
    Tensor after;
    if (generator_state.defined()) {
      generator = at::detail::getDefaultCPUGenerator();
      std::lock_guard<std::mutex> hold(generator.mutex());
      after = generator.get_state();
      generator.set_state(generator_state);
    }
    apply_numerics(op, &stack);
    op.redispatchBoxed(DispatchKeySet(DispatchKey::CPU), &stack);
    if (generator_state.defined()) {
      std::lock_guard<std::mutex> hold(generator.mutex());
      generator.set_state(after);
    }
    size_t i = 0;
    each_result(op, &stack, [&](const Tensor& result) {
      if (results[i].defined()) results[i].copy_(result);
      ++i;
      return result;
    });
  }
};

// Whether an argument is not what it was: resized, or moved.
bool changed(const Given& one) {
  return one.cpu.storage().unsafeGetStorageImpl() !=
             block_of(one.device.storage()).late.unsafeGetStorageImpl() ||
         one.cpu.sizes() != one.device.sizes();
}

void delay(const c10::OperatorHandle& op, Stack* stack) {
  const auto& arguments = op.schema().arguments();
  auto later = std::make_shared<Later>(Later{op, {stack->end() - arguments.size(), stack->end()}});
  Call call{op, true};
  for (size_t i = 0; i < arguments.size(); ++i) call.enter(later->stack[i], arguments[i]);
  auto stream = stream_of(call.device ? call.device->index() : current_device);
  if (call.results_on_cpu || (tells_the_host(op) && !call.given.empty()))
    return compute_after(stream, call, stack);
  if (op.hasTag(at::Tag::nondeterministic_seeded))
    later->generator_state = at::detail::getDefaultCPUGenerator().get_state();
  compute(op, stack);
  if (op.hasTag(at::Tag::inplace_view)) return;

  Alone alone;
  bool as_before = true;
  std::vector<Touch> touches;
  std::unordered_set<c10::StorageImpl*> known;
  for (const auto& one : call.given) {
    if (one.written && changed(one)) {
      adopt(one.device);
      as_before = false;
      continue;
    }
    touches.push_back(touch(one.cpu, one.written));
    known.insert(one.cpu.storage().unsafeGetStorageImpl());
  }
  each_result(op, stack, [&](const Tensor& result) {
    auto view = is_on_device(result) ? seen_from_cpu(result, true) : Tensor();
    if (view.defined() && known.count(view.storage().unsafeGetStorageImpl()) != 0) view = Tensor();
    if (view.defined() && as_before) {
      spoil(view, seen_from_cpu(result));
      touches.push_back(touch(view, true));
    } else if (view.defined()) {
      adopt(result);
    }
    later->results.push_back(view);
    return result;
  });
  bool writes = std::any_of(touches.begin(), touches.end(), [](auto& one) { return one.written; });
  if (as_before && writes)
    queue_work(stream, {name_of(op), std::move(touches), [later] { later->run(); }});
}

void run(const c10::OperatorHandle& op, Stack* stack) {
  return asynchronous ? delay(op, stack) : compute(op, stack);
}

}  // namespace
