"""Losses of torch.nn.functional over classes."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ....calls.inert import refuse_gradients
from ....calls.refusals import refuse
from ....core.argument_checks import check_scalar_type, real_argument
from ....core.base import TensorBase, wrap
from ....core.batches import between_batches
from ....core.dtypes import scalar_name
from ....core.narrow import kind_of
from ....core.registry import F
from ....rules.by_number import over, plus, times
from ....table.public import NAMESPACES, NN, check_tensor, public
from ....tensors.convert import checked_dim
from ....warning import warn

# Losses of `torch.nn.functional`.

_REDUCTIONS = ("none", "mean", "sum")


def softmax(input: Any, dim: int | None = None, dtype: Any = None) -> Any:  # noqa: A002
    """Exponentials normalised to sum to 1 along ``dim``."""
    check_tensor("softmax", input)
    return F._softmax(input if dtype is None else input.to(dtype), default_dim("softmax", input, dim))


def log_softmax(input: Any, dim: int | None = None, dtype: Any = None) -> Any:  # noqa: A002
    """Logarithm of the softmax, computed without overflow."""
    check_tensor("log_softmax", input)
    return F._log_softmax(input if dtype is None else input.to(dtype), default_dim("log_softmax", input, dim))


def _with_stacklevel(f: Any) -> Any:
    """As in ``nn.functional``, where the third argument is the frame that a warning would name."""

    def call(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:  # noqa: A002
        return f(input, dim, dtype)

    call.__name__ = call.__qualname__ = f.__name__
    call.__doc__ = f.__doc__
    return call


public("softmax", out=True)(softmax)
public("log_softmax", out=True)(log_softmax)
public("softmax", namespace=NN)(_with_stacklevel(softmax))
public("softmax", namespace="special")(softmax)
public("log_softmax", namespace="special")(log_softmax)
public("log_softmax", namespace=NN)(_with_stacklevel(log_softmax))


def default_dim(name: str, input: Any, dim: int | None) -> int:  # noqa: A002
    """The dimension given, or, with a warning, the one that is chosen where none is."""
    if dim is None:
        warn(
            f"Implicit dimension choice for {name} has been deprecated. "
            "Change the call to include dim=X as an argument."
        )
        return 0 if input.ndim in (0, 1, 3) else 1
    given = dim if dim.__class__ is int else operator.index(dim)
    checked_dim(given, input.ndim)
    return given  # as PyTorch's node shows it


@public("nll_loss", namespace=NN)
def nll_loss(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100,  # noqa: A002
    reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Negative log likelihood of log-probabilities: input ``(N, C, ...)``, target ``(N, ...)`` of class numbers."""
    check_tensor("nll_loss", input)
    return _nll(input, target, weight, reduction_of(reduction, size_average, reduce), ignore_index)


def _nll(logs: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    """Negative log likelihood for ``(N, C, ...)`` or ``(C,)``; raises for targets that do not fit."""
    if not isinstance(target, TensorBase):
        check_tensor("nll_loss", target, 2, "target")
    ndim = logs._array.ndim
    if not ndim:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if ndim > 1 and logs._array.shape[0] != (target._array.shape or (0,))[0]:
        raise ValueError(
            f"Expected input batch_size ({logs.shape[0]}) to match target batch_size ({(*target.shape, 0)[0]})."
        )
    if weight is not None or ndim != 2 or target._array.ndim != 1 or target._array.dtype is not _CLASS_NUMBERS[0]:
        _check_nll(logs, target, weight)  # (else nothing can be wrong)
    if weight is not None:
        refuse_gradients("nll_loss_forward" if ndim <= 2 else "nll_loss2d_forward", weight=weight)
    weight = weight if weight is None or weight._array.ndim == 1 else weight.reshape(-1)
    if ndim == 1 and target._array.ndim == 1:
        if target._array.size != 1:
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target._array.size}")
        target = target.reshape(())
    if ndim <= 2:
        loss = F._nll_loss(logs, target, weight, reduction, ignore_index)
    else:
        return _nll_of_images(logs, target, weight, reduction, ignore_index)
    return loss


def _nll_of_images(logs: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    """The same of ``(N, C, H, W)``; of one position, or more than two, as images of one row."""
    if logs._array.ndim == 4:
        return F._nll_loss_2d(logs, target, weight, reduction, ignore_index)
    n, c, *_ = logs._array.shape
    line = (1, -1) if logs._array.size else (0, 0)
    rows, places = F._view(logs.contiguous(), (n, c, *line)), F._view(target.contiguous(), (n, *line))
    loss = F._nll_loss_2d(rows, places, weight, reduction, ignore_index)
    return F._view(loss, tuple(target.shape)) if reduction == "none" else loss


_CLASS_NUMBERS = (np.dtype("int64"), np.dtype("uint8"))  # (a dtype finds its name in 10 to 20 µs)


def _check_places(shape: tuple[int, ...], target: tuple[int, ...]) -> None:
    """``RuntimeError`` unless there is a target for each position of ``(N, C, *positions)``."""
    wanted = (shape[0], *shape[2:])
    if len(shape) != 4:
        refuse(target != wanted, f"Expected target size {list(wanted)}, got {list(target)}")
        return
    refuse(
        len(target) != 3,
        f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {len(target)}",
    )
    refuse(target != wanted, f"size mismatch (got input: {list(shape)} , target: {list(target)}")


def _check_nll(logs: Any, target: Any, weight: Any) -> None:
    """``RuntimeError`` for targets that are not class indices, or weights that are not one for each class."""
    shape, numpy = logs._array.shape, target._array.dtype
    if len(shape) <= 2 < target._array.ndim + 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if len(shape) > 2:
        _check_places(shape, target._array.shape)
    if numpy not in _CLASS_NUMBERS:
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {scalar_name(numpy)}")
    classes = shape[1] if len(shape) > 1 else logs._array.size
    flat = weight is None or weight._array.ndim == 1 or len(shape) > 2  # (positions only count its elements)
    if weight is not None and (weight._array.size != classes or not flat):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {list(weight.shape)}"
        )
    if weight is not None:
        check_scalar_type(weight._array.dtype, logs._array.dtype)


@public("cross_entropy", namespace=NN)
def cross_entropy(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100,  # noqa: A002
    reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """Cross entropy of class scores: input ``(N, C, ...)``; target of class numbers, or of class probabilities."""
    if not isinstance(input, TensorBase):
        check_tensor("cross_entropy", input)
    if size_average is not None or reduce is not None or reduction not in _REDUCTIONS:
        reduction = reduction_of(reduction, size_average, reduce)
    if label_smoothing.__class__ is not float:
        label_smoothing = real_argument("cross_entropy_loss", "label_smoothing", 6, label_smoothing)
    if label_smoothing > 1:  # (PyTorch takes less than none)
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    classes = 0 if input._array.ndim == 1 else 1
    if isinstance(target, TensorBase) and target._array.shape == input._array.shape:
        _check_probabilities(target._array.dtype, ignore_index)
        logs = F._log_softmax(input, classes)
        return _soft_cross_entropy(logs, target, weight, reduction, label_smoothing, classes)
    logs = F._log_softmax(input, classes)
    loss = _nll(logs, target, weight, reduction, ignore_index)
    if label_smoothing <= 0:
        return loss
    smooth = _smooth(logs, target, weight, reduction, ignore_index, classes)
    return times(loss, 1 - label_smoothing) + times(smooth, label_smoothing / logs._array.shape[classes])


def _check_probabilities(dtype: np.dtype[Any], ignore_index: int) -> None:
    """``RuntimeError`` unless they are floating; a target of the scores' shape always means probabilities."""
    if kind_of(dtype) != "f":
        name = scalar_name(dtype)
        raise RuntimeError(f"Expected floating point type for target with class probabilities, got {name}")
    refuse(ignore_index >= 0, "ignore_index is not supported for floating point target")


def _weighted(logs: Any, weight: Any, classes: int) -> Any:
    if weight is None:
        return logs
    return logs * weight.reshape(*(-1 if d == classes else 1 for d in range(logs.ndim)))


def _smooth(logs: Any, target: Any, weight: Any, reduction: str, ignore_index: int, classes: int) -> Any:
    """The loss against even probabilities, summed over the classes."""
    ignored = target == ignore_index
    per_row = F.masked_fill(-_weighted(logs, weight, classes).sum(classes), ignored, 0.0)
    if reduction == "none":
        return per_row
    if reduction == "sum":
        return per_row.sum()
    with between_batches():  # how many rows are left differs from entry to entry of a batch, their sum has one size
        rows = ~ignored if weight is None else weight.gather(0, target.masked_select(~ignored).flatten())
    return per_row.sum() / rows.sum()


def _soft_cross_entropy(logs: Any, target: Any, weight: Any, reduction: str, smoothing: float, classes: int) -> Any:
    if smoothing:
        target = plus(times(target, 1 - smoothing), smoothing / logs.shape[classes])
    per_class = _weighted(logs * target, weight, classes)
    if reduction == "none":
        return -per_class.sum(classes)
    total = -per_class.sum()
    rows = logs.numel() // max(logs.shape[classes], 1)
    return total if reduction == "sum" else over(total, rows)  # (of no rows: NaN)


def check_reduction(reduction: str, known: tuple[str, ...] = _REDUCTIONS) -> None:
    """``ValueError`` for a reduction that a loss does not know."""
    if reduction not in known:
        raise ValueError(f"{reduction} is not a valid value for reduction")


def reduction_of(reduction: str, size_average: Any, reduce: Any) -> str:
    """The reduction asked for; the arguments of old still count, with a warning."""
    if size_average is None and reduce is None:
        check_reduction(reduction)
        return reduction
    sums = size_average is None or size_average
    old = "none" if reduce is not None and not reduce else "mean" if sums else "sum"
    warn(f"size_average and reduce args will be deprecated, please use reduction='{old}' instead.")  # fmt: skip
    return old


def reduced(loss: Any, reduction: str) -> Any:
    """A loss per element as asked: ``"none"``, ``"sum"`` or ``"mean"``; ``ValueError`` for anything else."""
    if reduction == "none":
        return loss
    check_reduction(reduction)
    return loss.mean() if reduction == "mean" else loss.sum()


# Cross entropy of scores that a linear map gives, also of several sets of classes for each row.


@public("linear_cross_entropy", namespace=NN)
def linear_cross_entropy(
    input: Any, linear_weight: Any, target: Any, *, linear_bias: Any = None, weight: Any = None,  # noqa: A002
    reduction: str = "mean", ignore_index: int | None = None, label_smoothing: float = 0.0, options: Any = None,
) -> Any:  # fmt: skip
    """Cross entropy of ``linear(input, linear_weight, linear_bias)``; ``options`` would only trade time for memory."""
    check_tensor("linear_cross_entropy", input)
    _check_sides(input, linear_weight, linear_bias)
    classes, *places, features = linear_weight.shape
    if places:
        linear_weight = linear_weight.reshape(-1, features)
        linear_bias = None if linear_bias is None else linear_bias.reshape(-1)
    scores = NAMESPACES[NN]["linear"](input, linear_weight, linear_bias)
    scores = scores.reshape(*input.shape[:-1], classes, *places)
    refuse(
        ignore_index is not None and tuple(target.shape) == tuple(scores.shape),
        "ignore_index cannot be specified when target contains probabilities",
    )
    return cross_entropy(
        scores, target, weight, ignore_index=-100 if ignore_index is None else ignore_index, reduction=reduction,
        label_smoothing=label_smoothing,
    )  # fmt: skip


def _check_sides(rows: Any, weight: Any, bias: Any) -> None:
    """``RuntimeError`` for shapes that do not belong together."""
    refuse(not 1 <= rows.ndim <= 2, f"expected input with dimensionality 1 or 2, got {rows.ndim}")
    refuse(weight.ndim < 2, f"expected linear_weight with dimensionality at least 2, got {weight.ndim}")
    refuse(
        rows.shape[-1] != weight.shape[-1],
        "expected equal input and linear_weight last dimensions (in_features), got "
        f"{rows.shape[-1]} and {weight.shape[-1]}, respectively",
    )
    outer = tuple(weight.shape[:-1])
    refuse(
        bias is not None and tuple(bias.shape) != outer,
        f"expected linear_bias shape {outer}, got {() if bias is None else tuple(bias.shape)}",
    )
    refuse(
        len(outer) > 1 and rows.ndim == 1,
        f"K-dimensional loss defined by linear_weight shape {tuple(weight.shape)} requires batched input, "
        f"(N, {rows.shape[-1]}), got unbatched input with shape {tuple(rows.shape)}",
    )


# Connectionist temporal classification: what labels and lengths must be, and the reductions.


def _lengths(name: str, values: Any, batch: int, most: int | None = None) -> Any:
    """Lengths as an array, one for each sequence of the batch."""
    found = np.asarray(values._array if isinstance(values, TensorBase) else values).reshape(-1)
    if found.size and found.dtype.kind not in "iu":
        raise RuntimeError(f"{name} must be integral")
    if len(found) != batch:
        raise RuntimeError(f"{name} must be of size batch_size: {len(found)} lengths for {batch} sequences")
    if found.size and found.min() < 0:
        raise RuntimeError(f"Expected {name} to have value at least 0, but got value {found.min()}")
    if most is not None and found.size and found.max() > most:
        raise RuntimeError(
            f"Expected {name} to have value at most {most}, but got value {found.max()} (while checking arguments for "
            "ctc_loss_cpu)"
        )
    return found.astype(np.int64)


def _check_labels(targets: Any, lengths: Any, blank: int, classes: int) -> None:
    """``RuntimeError`` unless the blank is a class and the targets are as long as their lengths say."""
    if not 0 <= blank < classes:
        raise RuntimeError(f"blank must be in label range, 0 to {classes - 1}, but got {blank}")
    if targets.ndim == 1:
        need, dim, fits = int(lengths.sum()), 0, targets.shape[0] == lengths.sum()
    else:
        need, dim = int(lengths.max(initial=0)), 1
        fits = targets.ndim == 2 and targets.shape[0] == len(lengths) and targets.shape[1] >= need
    if not fits:
        raise RuntimeError(
            f"Expected tensor to have size {'at least ' * dim}{need} at dimension {dim}, but got sizes "
            f"{list(targets.shape)} for argument #2 'targets' (while checking arguments for ctc_loss_cpu)"
        )


@public("ctc_loss", namespace=NN)
def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """Negative log probability of the targets, summed over all alignments (A. Graves et al., ICML 2006).

    ``log_probs`` is ``(T, N, C)`` or ``(T, C)``; targets are ``(N, S)`` or joined in one row.  As in PyTorch, the
    gradient is that of log probabilities that come from a ``log_softmax``.
    """
    reduction = reduction_of(reduction, None, None)
    check_tensor("ctc_loss", log_probs, name="log_probs")
    check_tensor("ctc_loss", targets, 2, "targets")
    if log_probs._sig.numpy.name not in ("float32", "float64"):
        raise NotImplementedError(f"\"ctc_loss_cpu\" not implemented for '{scalar_name(log_probs._sig.numpy)}'")
    if not log_probs.numel():
        raise RuntimeError("log_probs tensor must not be empty")
    single = log_probs.ndim == 2
    logs = F.unsqueeze(log_probs, 1) if single else log_probs
    if logs.ndim != 3:
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {logs.ndim}-dimensional tensor for argument #1 'log_probs' (while "
            "checking arguments for ctc_loss_allocate_outputs)"
        )
    time, batch, classes = logs.shape
    steps = _lengths("input_lengths", input_lengths, batch, time)
    lengths = _lengths("target_lengths", target_lengths, batch)
    _check_labels(targets, lengths, blank, classes)
    loss = F._ctc_loss(logs, targets, steps, lengths, blank, zero_infinity)[0]
    if zero_infinity:
        loss = F._where(F.isposinf(loss.detach()), F.zeros_like(loss), loss)
    if reduction == "mean":
        return (loss / wrap(np.maximum(lengths, 1).astype(loss._sig.numpy)).to(loss.device)).mean()
    return loss.sum() if reduction == "sum" else loss[0] if single else loss
