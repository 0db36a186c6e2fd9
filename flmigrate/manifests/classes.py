"""Classes of operators, for tables that people read: matmul, convolution, activation, ..."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

OTHER = "other"

_WORDS: Mapping[str, str] = {
    "matmul": "mm bmm addmm addbmm baddbmm matmul mv addmv dot vdot outer addr linear einsum",
    "attention": "scaled_dot_product_attention native_multi_head_attention",
    "convolution": "convolution conv1d conv2d conv3d conv_transpose2d conv_depthwise3d conv_tbc",
    "recurrent": "lstm gru rnn_tanh rnn_relu",
    "normalisation": "native_batch_norm native_layer_norm native_group_norm batch_norm layer_norm "
    "group_norm instance_norm renorm weight_norm rms_norm cudnn_batch_norm miopen_batch_norm",
    "activation": "relu relu6 gelu silu mish elu celu selu leaky_relu prelu hardtanh hardswish "
    "hardsigmoid hardshrink softshrink softplus sigmoid tanh softmax log_softmax threshold glu "
    "log_sigmoid rrelu safe_softmax logit",
    "pooling": "max_pool2d_with_indices max_pool3d_with_indices avg_pool1d avg_pool2d avg_pool3d "
    "adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool3d "
    "fractional_max_pool2d fractional_max_pool3d max_unpool2d max_unpool3d im2col col2im",
    "resampling": "upsample grid_sampler affine_grid_generator pixel_shuffle pixel_unshuffle",
    "loss": "nll_loss mse_loss smooth_l1_loss huber_loss binary_cross_entropy ctc_loss kl_div "
    "soft_margin_loss multi_margin_loss multilabel_margin_loss l1_loss",
    "reduction": "sum mean prod max min amax amin all any argmax argmin norm std var std_mean "
    "var_mean logsumexp nansum nanmean median nanmedian mode aminmax count_nonzero "
    "linalg_vector_norm cumsum cumprod cummax cummin logcumsumexp trace",
    "indexing": "index index_put index_select index_add index_copy index_fill index_reduce gather "
    "scatter scatter_add scatter_reduce masked_fill masked_select masked_scatter nonzero take "
    "embedding embedding_bag where take_along_dim put",
    "sorting": "sort topk argsort kthvalue unique unique2 unique_dim unique_consecutive "
    "searchsorted bucketize isin bincount histc msort",
    "random": "rand randn randint randperm rand_like randn_like randint_like normal uniform random "
    "bernoulli multinomial exponential cauchy geometric log_normal poisson native_dropout "
    "dropout fused_dropout",
    "creation": "empty zeros ones full arange linspace logspace eye tril_indices triu_indices "
    "empty_like zeros_like ones_like full_like new_empty new_zeros new_ones new_full "
    "scalar_tensor empty_strided new_empty_strided zero fill hann_window hamming_window",
    "shape": "view reshape transpose permute t squeeze unsqueeze expand select slice split "
    "split_with_sizes unbind cat stack flip roll rot90 as_strided diagonal unfold narrow chunk "
    "repeat repeat_interleave alias detach clone copy contiguous movedim swapaxes constant_pad_nd "
    "reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d "
    "replication_pad3d tril triu unsafe_view reshape_alias to_copy lift_fresh resize view_as_real "
    "view_as_complex block_diag slice_backward select_backward diagonal_backward copy_from "
    "local_scalar_dense set",
    "comparison": "eq ne lt le gt ge equal isnan isinf isfinite isneginf isposinf isclose "
    "logical_and logical_or logical_not logical_xor maximum minimum fmax fmin",
    "optimizer": "amp_update_scale amp_foreach_non_finite_check_and_unscale",
}

_STARTS = (
    ("_foreach_", "optimizer"),
    ("_fused_ada", "optimizer"),
    ("_fused_sgd", "optimizer"),
    ("_thnn_", "recurrent"),
    ("_scaled_dot_product", "attention"),
    ("_flash_attention", "attention"),
    ("_efficient_attention", "attention"),
    ("_transformer_encoder", "attention"),
    ("linalg_", "linear algebra"),
    ("_linalg_", "linear algebra"),
    ("cholesky", "linear algebra"),
    ("_fft_", "fft"),
    ("fft_", "fft"),
    ("special_", "elementwise"),
    ("upsample", "resampling"),
    ("_upsample", "resampling"),
    ("grid_sampler", "resampling"),
    ("quantize", "quantized"),
    ("fake_quantize", "quantized"),
    ("_sparse", "sparse"),
    ("sparse", "sparse"),
    ("bitwise_", "elementwise"),
)
_BY_WORD = {word: kind for kind, words in _WORDS.items() for word in words.split()}
_ELEMENTWISE = frozenset(
    "add sub rsub mul div pow neg abs exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos "
    "tan asin acos atan atan2 sinh cosh asinh acosh atanh ceil floor round trunc frac sign "
    "sgn reciprocal remainder fmod floor_divide clamp clamp_min clamp_max lerp addcmul "
    "addcdiv erf erfc erfinv lgamma digamma polygamma hypot xlogy heaviside nan_to_num "
    "copysign gcd lcm deg2rad rad2deg sinc square positive conj angle real imag complex polar "
    "i0 mvlgamma ldexp frexp logaddexp logaddexp2 signbit nextafter".split()
)


@cache
def class_of(op: str) -> str:
    """The class of an overload, forward or backward: of ``_softmax_backward_data``, activation."""
    name = op.partition(".")[0]
    for start, kind in _STARTS:
        if name.startswith(start):
            return kind
    name = name.strip("_").removeprefix("native_") if name not in _BY_WORD else name
    for ending in ("_backward", "_forward", "_backward_data", "_overrideable", "_with_logits"):
        name = name.removesuffix(ending)
    for candidate in (name, f"native_{name}", name.removeprefix("unsafe_"), f"{name}_backward"):
        if candidate in _BY_WORD:
            return _BY_WORD[candidate]
        if candidate in _ELEMENTWISE:
            return "elementwise"
    return next((_BY_WORD[w] for w in (name.rpartition("_")[0],) if w in _BY_WORD), OTHER)
