// The routes that an operator may take, each a boxed kernel.
#pragma once
#include "delayed.h"
#include "limits.h"

namespace {

void observed(const c10::OperatorHandle& op, Stack* stack, const char* route) {
  if (!observing) return run(op, stack);
  double start = now_ms();
  try {
    run(op, stack);
  } catch (const std::exception& error) {
    auto* known = dynamic_cast<const c10::Error*>(&error);
    observe(name_of(op), route, now_ms() - start,
            known != nullptr ? known->what_without_backtrace() : error.what());
    throw;
  }
  observe(name_of(op), route, now_ms() - start, nullptr);
}

void execute(const c10::OperatorHandle& op, Stack* stack) {
  observed(op, stack, beyond_limits(op, *stack) ? "cpu_fallback" : "native");
}

// Torch's own fallback hands a generator on as it is, and the CPU does not take one of a device.
void execute_on_cpu(const c10::OperatorHandle& op, Stack* stack) {
  for (size_t i = stack->size() - op.schema().arguments().size(); i < stack->size(); ++i) {
    if (!(*stack)[i].isGenerator()) continue;
    auto generator = (*stack)[i].toGenerator();
    TORCH_CHECK(!generator.defined() || generator.device().type() != kDevice,
                "Expected a 'cpu' device type for generator but found '", Device(kDevice).str(),
                "'");
  }
  observed(op, stack, "cpu_fallback");
}

void execute_round_trip(const c10::OperatorHandle& op, Stack* stack) {
  observed(op, stack, "cpu_roundtrip");
}

// A claimed operator without a kernel raises: it does not fall back.
void refuse(const c10::OperatorHandle& op, Stack*) {
  auto message = name_of(op) + ": backend not registered";
  if (observing) observe(name_of(op), "raises", 0, message.c_str());
  TORCH_CHECK(false, message);
}

void read_back(const c10::OperatorHandle& op, Stack* stack) {
  observed(op, stack, "runtime");
}

}  // namespace
