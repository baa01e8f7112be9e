"""Underscored functions of PyTorch that programs call nevertheless."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...calls.out_argument import Out
from ...calls.refusals import refuse, refuse_kind
from ...core.base import wrap
from ...core.narrow import is_eight_bits, kind_of
from ...core.registry import F
from ...ops.indexing.functions import indexing
from ...ops.layers.functions import native
from ...table.public import FUNCTIONS, NAMESPACES, check_tensor, public
from ...tensors.convert import checked_dim, dims_given

# -- gradients of softmax, from the outside


@public("_softmax_backward_data", method=False)
def _softmax_backward_data(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    """The gradient of ``softmax`` from the one of its ``output``."""
    refuse_kind("softmax_backward_lastdim_kernel_impl", grad_output._sig.numpy, "f")
    found = F._softmax_back(grad_output, output, int(dim))
    return found if found.dtype is input_dtype else found.to(input_dtype)


@public("_log_softmax_backward_data", method=False, out=True)
def _log_softmax_backward_data(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    """The gradient of ``log_softmax`` from the one of its ``output``."""
    refuse_kind("log_softmax_backward_lastdim_kernel_impl", grad_output._sig.numpy, "f")
    found = F._log_softmax_back(grad_output, output, int(dim))
    return found if found.dtype is input_dtype else found.to(input_dtype)


def _normalising(name: str) -> Callable[..., Any]:
    def call(input: Any, dim: int, half_to_float: bool) -> Any:  # noqa: A002
        return FUNCTIONS[name](input, dim)

    call.__doc__ = f"``{name}``; a wider result of halves is a matter of other devices."
    return call


for _name in ("softmax", "log_softmax"):
    public(f"_{_name}", method=False, out=True)(_normalising(_name))


@public("_safe_softmax", method=False)
def _safe_softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    """Softmax that is 0 where all of its operands are minus infinity."""
    check_tensor("_safe_softmax", self, name="self")
    return F._safe_softmax(self if dtype is None else self.to(dtype), int(dim))


@public("module_load", function=False)
def module_load(self: Any, other: Any, assign: bool = False) -> Any:
    """What takes the place of this parameter when ``load_state_dict`` exchanges it for ``other``."""
    return other.detach() if assign else self.copy_(other).detach()


# -- masked indexing, where what the mask leaves out may lie outside


def _clamped(self: Any, indices: Any) -> list[Any]:
    """Indices brought into the tensor, each along its dimension."""
    return [None if i is None else i.clamp(-self.shape[d], self.shape[d] - 1) for d, i in enumerate(indices)]


@public("_unsafe_masked_index", method=False)
def _unsafe_masked_index(input: Any, mask: Any, indices: Any, fill: Any) -> Any:  # noqa: A002
    """``input[indices]`` where ``mask``, elsewhere ``fill``; indices there may be out of range."""
    check_tensor("_unsafe_masked_index", input)
    if not input.numel():
        shape = np.broadcast_shapes(*(tuple(i.shape) for i in indices if i is not None))
        return FUNCTIONS["full"](shape, fill, dtype=input.dtype)
    return input[tuple(slice(None) if i is None else i for i in _clamped(input, indices))].masked_fill(~mask, fill)


@public("_unsafe_masked_index_put_accumulate", method=False)
def _unsafe_masked_index_put_accumulate(input: Any, mask: Any, indices: Any, values: Any) -> Any:  # noqa: A002
    """``input`` with ``values`` added at ``indices`` where ``mask``."""
    check_tensor("_unsafe_masked_index_put_accumulate", input)
    if not input.numel():
        return input.clone()
    return indexing.index_put(input, _clamped(input, indices), values.masked_fill(~mask, 0), accumulate=True)


@public("_unsafe_index", method=False)
def _unsafe_index(input: Any, indices: Any) -> Any:  # noqa: A002
    """``input[indices]``; PyTorch leaves out whether they lie inside."""
    check_tensor("_unsafe_index", input)
    return input[tuple(slice(None) if i is None else i for i in indices)]


@public("_unsafe_index_put", method=False)
def _unsafe_index_put(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:  # noqa: A002
    """``index_put``; PyTorch leaves out whether the indices lie inside."""
    check_tensor("_unsafe_index_put", input)
    return indexing.index_put(input, indices, values, accumulate)


# -- layers


@public("_native_batch_norm_legit", method=False, out=True)
def _native_batch_norm_legit(input: Any, weight: Any, bias: Any, *rest: Any, **named: Any) -> Any:  # noqa: A002
    """``native_batch_norm``, with ``running_mean`` and ``running_var`` after ``bias`` or without them."""
    if len(rest) + len(named) == 3:
        rest = (None, None, *rest)
    return native.native_batch_norm(input, weight, bias, *rest, **named)


@public("_weight_norm", method=False)
def _weight_norm(v: Any, g: Any, dim: int = 0) -> Any:
    """``v`` with the norms ``g`` over all dimensions but ``dim``."""
    refuse_kind("weight_norm_kernel", v._sig.numpy, "f")
    v, g = v.contiguous(), g.contiguous()
    if dim in (0, v.ndim - 1):
        return F._weight_norm_interface(v, g, dim)
    return v * (g / native.norm_except_dim(v, 2, dim))


@public("_adaptive_avg_pool2d", method=False)
def _adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:  # noqa: A002
    """``adaptive_avg_pool2d``."""
    return NAMESPACES["nn.functional"]["adaptive_avg_pool2d"](input, output_size)


@public("_scaled_mm", method=False, out=True)
def _scaled_mm(
    input: Any, mat2: Any, scale_a: Any, scale_b: Any, bias: Any = None, scale_result: Any = None,  # noqa: A002
    out_dtype: Any = None, use_fast_accum: bool = False,
) -> Any:  # fmt: skip
    """The product of two matrices of eight bits, each times its scale, in another dtype; as on the CPU, PyTorch does
    not look at ``scale_result``."""
    for place, operand in enumerate((input, mat2), 1):
        refuse(operand.dim() != 2, f"mat{place} must be a matrix")
    (n, k), (other_k, m) = input.shape, mat2.shape
    refuse(k != other_k, f"mat_a and mat_b shapes cannot be multiplied ({n}x{k} and {other_k}x{m})")
    if not (is_eight_bits(input._sig.numpy) and is_eight_bits(mat2._sig.numpy)):
        raise ValueError("Invalid scaling configuration.\n- a and b should be float8, scales should be float")
    found = F.mm(input.float(), mat2.float()) * (scale_a * scale_b)
    found = found if bias is None else found + bias.float()
    return found.to(input.dtype if out_dtype is None else out_dtype)


# -- what a scaler of losses is made of


@public("_amp_foreach_non_finite_check_and_unscale_", method=False)
def _amp_foreach_non_finite_check_and_unscale_(input: Any, found_inf: Any, inv_scale: Any) -> None:  # noqa: A002
    """Multiply gradients by ``inv_scale``; ``found_inf`` becomes 1 if a number of theirs is infinite or NaN."""
    for name, value in (("inv_scale", inv_scale), ("found_inf", found_inf)):
        refuse(value.numel() != 1, f"{name} must be a 1-element tensor.")
    for gradient in input:
        refuse_kind("_amp_foreach_non_finite_check_and_unscale_cpu", gradient._sig.numpy, "fc")
        if not bool(gradient.isfinite().all()):
            found_inf.fill_(1)
        gradient.mul_(inv_scale)


@public("_amp_update_scale_", method=False)
def _amp_update_scale_(
    input: Any, growth_tracker: Any, found_inf: Any, scale_growth_factor: float,  # noqa: A002
    scale_backoff_factor: float, growth_interval: int,
) -> Any:  # fmt: skip
    """The scale after a step: smaller after an overflow, larger after ``growth_interval`` steps without one."""
    if found_inf.item():
        input.mul_(scale_backoff_factor)
        growth_tracker.fill_(0)
        return input
    growth_tracker.add_(1)
    if growth_tracker.item() == growth_interval:
        grown = input * scale_growth_factor
        if bool(grown.isfinite().all()):
            input.copy_(grown)
        growth_tracker.fill_(0)
    return input


# -- pieces


@public("_chunk_cat", method=False, out=True)
def _chunk_cat(tensors: Any, dim: int, num_chunks: int) -> Any:
    """Tensors filled with zeros to ``num_chunks`` equal pieces along ``dim``, side by side piece by piece."""
    _check_pieces(tensors, dim, num_chunks)
    dim = checked_dim(int(dim), tensors[0].ndim)
    return FUNCTIONS["cat"]([_pieces(t, dim, num_chunks) for t in tensors], dim + 1)


def _check_pieces(tensors: Any, dim: int, count: int) -> None:
    refuse(count < 1, "_chunk_cat expects positive num_chunks")
    refuse(not tensors, "_chunk_cat expects a non-empty input tensor list")
    refuse(any(not t.numel() for t in tensors), "_chunk_cat expects non-empty tensor")
    refuse(
        dim < 0 and len({t.ndim for t in tensors}) > 1,
        "_chunk_cat expects non-negative dim when input tensors have different ndims",
    )
    refuse(any(dim >= t.ndim for t in tensors), "_chunk_cat expects dim < ndim for all input tensors")
    refuse(
        len({tuple(t.shape[:dim]) for t in tensors}) > 1,
        "_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors",
    )


def _pieces(t: Any, dim: int, count: int) -> Any:
    pad = [0] * (2 * (t.ndim - dim))
    pad[-1] = -t.shape[dim] % count
    return F.constant_pad_nd(t, tuple(pad), 0).reshape((*t.shape[:dim], count, -1))


@public("_stack", method=False, out=True)
def _stack(tensors: Any, dim: int = 0) -> Any:
    """``stack``."""
    return FUNCTIONS["stack"](tensors, dim)


# -- reductions


@public("_aminmax", method=False)
def _aminmax(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:  # noqa: A002
    """``aminmax``."""
    return FUNCTIONS["aminmax"](input, dim=dim, keepdim=keepdim)


@public("_unique2", method=False)
def _unique2(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False  # noqa: A002
) -> Any:  # fmt: skip
    """``unique``, always with inverse and counts; those not asked for are empty."""
    values, inverse, counts = FUNCTIONS["unique"](input, sorted=sorted, return_inverse=True, return_counts=True)
    nothing = wrap(np.zeros(0, np.int64))
    return values, inverse if return_inverse else nothing, counts if return_counts else nothing


@public("_segment_reduce", method=False)
def _segment_reduce(data: Any, reduce: str, **how: Any) -> Any:
    """``segment_reduce``."""
    return FUNCTIONS["segment_reduce"](data, reduce, **how)


@public("_is_all_true")
def _is_all_true(input: Any) -> Any:  # noqa: A002
    """Whether all truth values are true, as a tensor."""
    return input.all()


@public("_is_any_true")
def _is_any_true(input: Any) -> Any:  # noqa: A002
    """Whether any truth value is true, as a tensor."""
    return input.any()


@public("hash_tensor", out=Out(exact=True))
def hash_tensor(input: Any, dim: Any = (), *, keepdim: bool = False, mode: int = 0) -> Any:  # noqa: A002
    """Exclusive or of the bits of all elements, widened to 64 each; complex numbers have none."""
    array = input._array
    if kind_of(array.dtype) == "c":
        raise NotImplementedError(f'"hash_tensor" not implemented for {input.dtype}')
    if mode != 0:
        raise RuntimeError(f"hash_tensor: mode must be 0, but got {mode}")
    if not array.size and not (isinstance(dim, int) or dim):
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
            "with the 'dim' argument."
        )
    words = array.astype({"f": np.float64, "u": np.uint64}.get(kind_of(array.dtype), np.int64)).view(np.uint64)
    dims = dims_given(dim)
    axes = tuple(checked_dim(d, array.ndim) for d in dims) or tuple(range(array.ndim))
    mixed: Any = np.bitwise_xor.reduce(words, axis=axes if array.ndim else None, keepdims=keepdim)  # type: ignore[call-overload]
    return wrap(np.asarray(mixed))
