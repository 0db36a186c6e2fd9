// Kernels for operators that ATen chooses on PrivateUse1 only, so that the CPU has none under that
// name. They are given to the CPU, where nothing else calls them; the one kernel does the rest.
#pragma once
#include "memory.h"

namespace {

using Optional = c10::optional<Tensor>;

Tensor convolution(const Tensor& input, const Tensor& weight, const Optional& bias,
                   IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed,
                   IntArrayRef output_padding, int64_t groups) {
  return at::convolution(input, weight, bias, stride, padding, dilation, transposed,
                         output_padding, groups);
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward(
    const Tensor& grad, const Tensor& input, const Tensor& weight, IntArrayRef stride,
    IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
    int64_t groups, std::array<bool, 3> mask) {
  int64_t channels = transposed ? weight.size(1) * groups : weight.size(0);
  return at::convolution_backward(grad, input, weight, at::OptionalIntArrayRef(IntArrayRef(channels)),
                                  stride, padding, dilation, transposed, output_padding, groups,
                                  mask);
}

// The cells of LSTM and GRU. Gates are (batch, 4 * hidden) and (batch, 3 * hidden); bias is there
// for both or for neither.
Tensor with_bias(const Tensor& gates, const Optional& bias) {
  return bias && bias->defined() ? gates + *bias : gates;
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& input, const Tensor& hidden,
                                             const Tensor& cx, const Optional& a,
                                             const Optional& b) {
  auto gates = (with_bias(hidden, b) + with_bias(input, a)).chunk(4, 1);
  auto i = gates[0].sigmoid(), f = gates[1].sigmoid(), g = gates[2].tanh(), o = gates[3].sigmoid();
  auto cy = f * cx + i * g;
  return {o * cy.tanh(), cy, at::cat({i, f, g, o}, 1)};
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(const Optional& grad_hy,
                                                      const Optional& grad_cy, const Tensor& cx,
                                                      const Tensor& cy, const Tensor& kept,
                                                      bool has_bias) {
  auto gates = kept.chunk(4, 1);
  auto &i = gates[0], &f = gates[1], &g = gates[2], &o = gates[3];
  auto t = cy.tanh();
  auto gh = grad_hy && grad_hy->defined() ? *grad_hy : at::zeros_like(cx);
  auto gc = (grad_cy && grad_cy->defined() ? *grad_cy : at::zeros_like(cx)) + gh * o * (1 - t * t);
  auto all = at::cat({gc * g * i * (1 - i), gc * cx * f * (1 - f), gc * i * (1 - g * g),
                      gh * t * o * (1 - o)}, 1);
  return {all, gc * f, has_bias ? all.sum(0) : Tensor()};
}

std::tuple<Tensor, Tensor> gru_cell(const Tensor& input, const Tensor& hidden, const Tensor& hx,
                                    const Optional& a, const Optional& b) {
  auto from = with_bias(input, a).chunk(3, 1), back = with_bias(hidden, b).chunk(3, 1);
  auto r = (back[0] + from[0]).sigmoid(), z = (back[1] + from[1]).sigmoid();
  auto n = (from[2] + r * back[2]).tanh();
  return {(hx - n) * z + n, at::cat({r, z, n, hx, back[2]}, 1)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(const Tensor& grad,
                                                                     const Tensor& kept,
                                                                     bool has_bias) {
  auto parts = kept.chunk(5, 1);
  auto &r = parts[0], &z = parts[1], &n = parts[2], &h = parts[3], &back = parts[4];
  auto gn = grad * (1 - z) * (1 - n * n), gz = grad * (h - n) * z * (1 - z);
  auto gr = gn * back * r * (1 - r);
  auto from = at::cat({gr, gz, gn}, 1), hidden = at::cat({gr, gz, gn * r}, 1);
  return {from, hidden, grad * z, has_bias ? from.sum(0) : Tensor(),
          has_bias ? hidden.sum(0) : Tensor()};
}

}  // namespace
