"""Checks of gradcheck other than values: zero, missing and batched gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.registry import F
from ..execution.backward import grad
from ..execution.batched import Gradients, map_batch
from ..function.function import Function
from ..tensors.tensor import Tensor
from ..transforms.vmap import drawing_refused
from ..warning import warn
from .case import Case, GradcheckError
from .elements import Array, array_of, flat_copy, tensor_like
from .jacobians import tangents_of

_BATCHED_ADVICE = (
    "gradcheck or gradgradcheck failed while testing batched gradient computation. Batched gradients are computed "
    "one by one and stacked, so that a difference means that the function or its backward does not give the same "
    "values each time. Call with `{option}=False` to leave this test out."
)


def check_zero_grads(case: Case) -> None:
    """``GradcheckError`` unless zero gradients give zero gradients of the right type and size. Frees the graph."""
    outputs, inputs = case.checked, case.varied
    if not outputs:
        return
    for gradient, x in zip(_grad_of_zeros(outputs, inputs), inputs, strict=True):
        if gradient is None:
            continue
        values = flat_copy(gradient)
        if not (np.allclose(values, 0) if case.options.masked else bool((values == 0).all())):
            raise GradcheckError(
                "backward not multiplied by grad_output: zero gradients for the outputs gave nonzero ones for inputs."
            )
        if gradient.layout != x.layout:
            raise GradcheckError(f"grad is incorrect layout ({gradient.layout} is not {x.layout}).")
        if gradient.dtype != x.dtype:
            raise GradcheckError(f"grad is incorrect type: {gradient.dtype} for an input of type {x.dtype}.")
        if gradient.shape != x.shape:
            raise GradcheckError(f"grad is incorrect size: {gradient.shape} for an input of size {x.shape}.")


def _grad_of_zeros(outputs: list[Tensor], inputs: list[Tensor]) -> Gradients:
    result: Gradients = grad(outputs, inputs, [F.zeros_like(output) for output in outputs], allow_unused=True)
    return result


class _UndefinedGrad(Function):
    """Passes its input on, and an undefined gradient to the nodes behind it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        same: Tensor = x.view_as(x)
        return same

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> None:
        return None


def check_undefined_grads(case: Case) -> None:
    """``GradcheckError`` unless backward copes with outputs without gradient: all of them, and each one alone."""
    count = len(case.checked)
    cases = [set(range(count))]
    if count > 1:
        cases += [{index} for index in range(count)]
    for undefined in cases:
        outputs = [output for output in case.evaluate() if output.requires_grad]
        hidden = [_UndefinedGrad.apply(out) if index in undefined else out for index, out in enumerate(outputs)]
        if hidden:
            _check_undefined(hidden, case.varied)


def _check_undefined(outputs: list[Tensor], inputs: list[Tensor]) -> None:
    """``GradcheckError`` unless backward takes None for the gradient of an output as zero."""
    try:
        gradients = _grad_of_zeros(outputs, inputs)
    except RuntimeError as error:
        _warn_of_undefined()
        raise GradcheckError(
            "Expected backward function to handle undefined output grads: it raised when it got None for one. Treat "
            "None as zero in it, or leave this test out with `check_undefined_grad=False`."
        ) from error
    if any(gradient is not None and not bool((flat_copy(gradient) == 0).all()) for gradient in gradients):
        _warn_of_undefined()
        raise GradcheckError(
            "Expected all input grads to be undefined or zero when all output grads are undefined or zero, but "
            "backward returned something else."
        )


def _warn_of_undefined() -> None:
    # At the call of gradcheck: this function, _check_undefined, check_undefined_grads, two frames of gradcheck.
    warn(
        "Undefined gradient support checking is on by default and has failed. If the function need not support "
        'missing gradients, call with "check_undefined_grad=False" to disable the feature'
    )


def check_undefined_tangents(case: Case) -> None:
    """``GradcheckError`` unless an input without tangent counts as one whose tangent is zero."""
    generator = np.random.default_rng(1)
    tangents: dict[int, Array | None] = {
        position: generator.random(case.inputs[position].numel()) for position in case.varied_positions
    }
    for position in case.varied_positions:
        zero = tangents_of(case, {**tangents, position: np.zeros(case.inputs[position].numel())})
        missing = tangents_of(case, {**tangents, position: None})
        for number, ((_, expected), (_, found)) in enumerate(zip(zero, missing, strict=True)):
            if expected is None or found is None or _alike(expected, found):
                continue
            raise GradcheckError(
                f"Mismatch in tangent values for output with index: {number} when input: {position} has an undefined "
                f"tangent value. Got: {found} but expected: {expected}"
            )


def check_batched_grads(case: Case) -> None:
    """``GradcheckError`` unless ``grad`` of a batch of gradients equals ``grad`` of each."""
    inputs = case.varied
    for number, output in enumerate(case.checked):
        batch = _random_batch(output)

        def run(g: Tensor, output: Tensor = output, batched: bool = False) -> Gradients:
            gradients = grad(output, inputs, g, retain_graph=True, allow_unused=True, is_grads_batched=batched)
            shapes = [((2, *x.shape) if batched else x.shape) for x in inputs]
            pairs = zip(gradients, inputs, shapes, strict=True)
            return tuple(x.new_zeros(shape) if g is None else g for g, x, shape in pairs)

        try:
            result = run(batch, batched=True)
        except RuntimeError as error:
            advice = _BATCHED_ADVICE.format(option="check_batched_grad")
            raise GradcheckError(f"While computing batched gradients, got: {error}\n\n{advice}") from error
        _check_batches(result, map_batch(run, (batch,)), f"output {number}", option="check_batched_grad")


def check_batched_tangents(case: Case) -> None:
    """``GradcheckError`` unless tangents of a batch of directions equal the tangents of each."""
    for position in case.varied_positions:
        batch = _random_batch(case.inputs[position])

        def run(tangent: Tensor, position: int = position) -> Gradients:
            plain: dict[int, Array | None] = dict.fromkeys(case.varied_positions)
            pairs = tangents_of(case, {**plain, position: array_of(tangent).reshape(-1)})
            return tuple(F.zeros_like(value) if found is None else found for value, found in pairs)

        try:
            with drawing_refused():
                result = map_batch(run, (batch,))
        except RuntimeError as error:
            advice = _BATCHED_ADVICE.format(option="check_batched_forward_grad")
            raise GradcheckError(f"While computing batched gradients, got: {error}\n\n{advice}") from error
        _check_batches(result, map_batch(run, (batch,)), f"input {position}", option="check_batched_forward_grad")


def _random_batch(like: Tensor) -> Tensor:
    generator = np.random.default_rng(2)
    batch: Tensor = F.stack([tensor_like(generator.standard_normal(like.numel()), like) for _ in range(2)])
    return batch


def _check_batches(results: Gradients, expected: Gradients, place: str, *, option: str) -> None:
    for number, (found, wanted) in enumerate(zip(results, expected, strict=True)):
        if found is not None and wanted is not None and not _alike(found, wanted):
            raise GradcheckError(
                f"For {place} and result {number}:\n\n{_BATCHED_ADVICE.format(option=option)}\n\n"
                f"Got:\n{found}\n\nExpected:\n{wanted}"
            )


def _alike(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and bool(np.allclose(array_of(a), array_of(b), rtol=1e-5, atol=1e-8))
