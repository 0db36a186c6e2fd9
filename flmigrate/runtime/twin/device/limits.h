// Types of values that a chip's own kernels do not take, as its hazards tell: computed on the CPU.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>

#include <set>

#include "memory.h"

namespace {

std::unordered_map<c10::OperatorName, std::set<ScalarType>> limits;

// Whether a call is one of those; any of its tensors counts.
bool beyond_limits(const c10::OperatorHandle& op, const Stack& stack) {
  if (limits.empty()) return false;
  auto found = limits.find(op.operator_name());
  if (found == limits.end()) return false;
  auto beyond = [&](const Tensor& tensor) {
    return tensor.defined() && found->second.count(tensor.scalar_type()) != 0;
  };
  for (size_t i = stack.size() - op.schema().arguments().size(); i < stack.size(); ++i) {
    if (stack[i].isTensor() && beyond(stack[i].toTensor())) return true;
    if (!stack[i].isTensorList()) continue;
    auto list = stack[i].toTensorVector();
    if (std::any_of(list.begin(), list.end(), beyond)) return true;
  }
  return false;
}

void limit(const std::string& op, const std::vector<ScalarType>& dtypes) {
  limits[operator_of(op)].insert(dtypes.begin(), dtypes.end());
}

}  // namespace
