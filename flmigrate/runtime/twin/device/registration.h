// What is registered for the device: always, or as a chip's manifest claims it.
#pragma once
#include <ATen/autocast_mode.h>
#include <torch/library.h>

#include <functional>
#include <map>

#include "fused.h"
#include "streams.h"
#include "tensors.h"

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&execute_on_cpu>());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty_memory_format);
  m.impl("empty_strided", &empty_strided);
  m.impl("copy_", &copy_);
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
  m.impl("set_.source_Storage_storage_offset", &set_storage);
  m.impl("set_.source_Storage", &set_whole_storage);
  m.impl("set_.source_Tensor", &set_tensor);
  m.impl("set_", &set_empty);
  m.impl("record_stream", &record_stream);
  m.impl("_efficientzerotensor", &zeros);
  m.impl("_local_scalar_dense", torch::CppFunction::makeFromBoxedFunction<&read_back>());
}

#define LOWER(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define FLOAT32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define FLOAT32_DTYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  AT_FORALL_LOWER_PRECISION_FP(LOWER)
  AT_FORALL_FP32(FLOAT32)
  AT_FORALL_FP32_SET_OPT_DTYPE(FLOAT32_DTYPE)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
  AT_FORALL_PROMOTE(PROMOTE)
}
TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFallthrough());
}

namespace {

torch::Library& claims() {
  static torch::Library library(torch::Library::IMPL, "aten", DispatchKey::PrivateUse1, __FILE__,
                                __LINE__);
  return library;
}

torch::Library& kernels_of_the_cpu() {
  static torch::Library library(torch::Library::IMPL, "aten", DispatchKey::CPU, __FILE__, __LINE__);
  return library;
}

// Gives the CPU the kernels of `fused.h`, one by one: a chip has them or not.
const std::map<std::string, std::function<void()>>& fused() {
  static auto& cpu = kernels_of_the_cpu();
  static const std::map<std::string, std::function<void()>> all = {
      {"convolution_overrideable", [] { cpu.impl("convolution_overrideable", &convolution); }},
      {"convolution_backward_overrideable",
       [] { cpu.impl("convolution_backward_overrideable", &convolution_backward); }},
      {"_thnn_fused_lstm_cell", [] { cpu.impl("_thnn_fused_lstm_cell", &lstm_cell); }},
      {"_thnn_fused_lstm_cell_backward_impl",
       [] { cpu.impl("_thnn_fused_lstm_cell_backward_impl", &lstm_cell_backward); }},
      {"_thnn_fused_gru_cell", [] { cpu.impl("_thnn_fused_gru_cell", &gru_cell); }},
      {"_thnn_fused_gru_cell_backward",
       [] { cpu.impl("_thnn_fused_gru_cell_backward", &gru_cell_backward); }},
  };
  return all;
}

// Every operator with a kernel of the CPU's own gets one of the device's own, so that it takes the
// path on the device that it takes on the CPU, and results agree to the bit.
int claim_all() {
  int claimed = 0;
  for (const auto& [name, give] : fused()) give();
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& name : dispatcher.getAllOpNames()) {
    if (name.name.rfind("aten::", 0) != 0) continue;
    auto op = dispatcher.findSchema(name);
    if (!op || !op->hasKernelForDispatchKey(DispatchKey::CPU)) continue;
    if (op->hasKernelForDispatchKey(DispatchKey::PrivateUse1)) continue;
    auto full = name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
    claims().impl(full.c_str(), torch::CppFunction::makeFromBoxedFunction<&execute>());
    ++claimed;
  }
  return claimed;
}

// What a chip claims: (operator, route) from its manifest. What it does not claim is left to the
// dispatcher: composites decompose, the rest falls back to the CPU.
int claim_chip(const std::vector<std::pair<std::string, std::string>>& routes) {
  int claimed = 0;
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& [op, route] : routes) {
    auto known = dispatcher.findSchema(operator_of(op));  // another torch may not have it
    if (!known || known->hasKernelForDispatchKey(DispatchKey::PrivateUse1)) continue;
    auto own = fused().find(op);
    if (own != fused().end() && route != "raises") own->second();
    if (route == "raises")
      claims().impl(op.c_str(), torch::CppFunction::makeFromBoxedFunction<&refuse>());
    else if (route == "cpu_roundtrip")
      claims().impl(op.c_str(), torch::CppFunction::makeFromBoxedFunction<&execute_round_trip>());
    else
      claims().impl(op.c_str(), torch::CppFunction::makeFromBoxedFunction<&execute>());
    ++claimed;
  }
  return claimed;
}

}  // namespace
