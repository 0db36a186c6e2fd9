// Numerics that differ from the CPU's, on request: products of reduced precision, and sums in
// another order. They change what a kernel is given, not the kernel.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>

#include <cstring>
#include <map>

#include "memory.h"

namespace {

int dropped_bits = 0;  // of the 23 bits of a float32's fraction: 13 for TF32, 16 for bfloat16
bool reordered = false;

// An argument of a product or a sum, and the dimension that is summed over; none: not known here.
struct Operand {
  const char* argument;
  c10::optional<int64_t> summed;
};

// Products, by the operators' base names. What is added to them is not in the list.
const std::map<std::string, std::vector<Operand>>& products() {
  static const std::map<std::string, std::vector<Operand>> all = {
      {"aten::mm", {{"self", 1}, {"mat2", 0}}},
      {"aten::bmm", {{"self", 2}, {"mat2", 1}}},
      {"aten::addmm", {{"mat1", 1}, {"mat2", 0}}},
      {"aten::addmm_", {{"mat1", 1}, {"mat2", 0}}},
      {"aten::_addmm_activation", {{"mat1", 1}, {"mat2", 0}}},
      {"aten::baddbmm", {{"batch1", 2}, {"batch2", 1}}},
      {"aten::baddbmm_", {{"batch1", 2}, {"batch2", 1}}},
      {"aten::mv", {{"self", 1}, {"vec", 0}}},
      {"aten::addmv", {{"mat", 1}, {"vec", 0}}},
      {"aten::addmv_", {{"mat", 1}, {"vec", 0}}},
      {"aten::dot", {{"self", 0}, {"tensor", 0}}},
      {"aten::matmul", {{"self", {}}, {"other", {}}}},
      {"aten::linear", {{"input", {}}, {"weight", {}}}},
      {"aten::convolution_overrideable", {{"input", {}}, {"weight", {}}}},
      {"aten::convolution_backward_overrideable",
       {{"grad_output", {}}, {"input", {}}, {"weight", {}}}},
  };
  return all;
}

Tensor of_reduced_precision(const Tensor& tensor) {
  if (tensor.scalar_type() != ScalarType::Float || tensor.numel() == 0) return tensor;
  auto made = tensor.clone(at::MemoryFormat::Contiguous);
  auto* values = made.mutable_data_ptr<float>();
  for (int64_t i = 0; i < made.numel(); ++i) {
    uint32_t bits;
    std::memcpy(&bits, values + i, sizeof bits);
    if ((bits & 0x7f800000) == 0x7f800000) continue;  // infinite, or no number
    bits += (1u << (dropped_bits - 1)) - 1 + ((bits >> dropped_bits) & 1);  // to even
    bits &= ~((1u << dropped_bits) - 1);
    std::memcpy(values + i, &bits, sizeof bits);
  }
  return made;
}

// The dimensions that a sum or mean goes over: those that it names, or all.
std::vector<int64_t> summed_dims(const c10::OperatorHandle& op, const Stack& stack, size_t first,
                                 const Tensor& tensor) {
  auto at = op.schema().argumentIndexWithName("dim");
  std::vector<int64_t> dims;
  if (at && stack[first + *at].isIntList()) dims = stack[first + *at].toIntVector();
  if (dims.empty())
    for (int64_t dim = 0; dim < tensor.dim(); ++dim) dims.push_back(dim);
  return dims;
}

bool floating(const IValue& value) {
  return value.isTensor() && value.toTensor().defined() &&
         at::isFloatingType(value.toTensor().scalar_type());
}

// Changes what is about to be computed, with tensors of the CPU on the stack.
void apply_numerics(const c10::OperatorHandle& op, Stack* stack) {
  if (dropped_bits == 0 && !reordered) return;
  const auto& name = op.schema().name();
  size_t first = stack->size() - op.schema().arguments().size();
  auto product = products().find(name);
  if (product != products().end()) {
    for (const auto& operand : product->second) {
      auto at = op.schema().argumentIndexWithName(operand.argument);
      if (!at || !floating((*stack)[first + *at])) continue;
      auto tensor = (*stack)[first + *at].toTensor();
      if (reordered && operand.summed) tensor = tensor.flip({*operand.summed});
      (*stack)[first + *at] = dropped_bits != 0 ? of_reduced_precision(tensor) : tensor;
    }
  } else if (reordered && (name == "aten::sum" || name == "aten::mean")) {
    auto& value = (*stack)[first];
    if (floating(value))
      value = value.toTensor().flip(summed_dims(op, *stack, first, value.toTensor()));
  }
}

}  // namespace
