"""Check derivatives against finite differences: ``gradcheck`` for first and ``gradgradcheck`` for second order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..core.dtypes import complex128, float64
from ..core.registry import F
from ..execution.backward import grad
from ..table.public import FUNCTIONS
from ..tensors.tensor import Tensor
from ..warning import warn
from .behaviour import (
    check_batched_grads,
    check_batched_tangents,
    check_undefined_grads,
    check_undefined_tangents,
    check_zero_grads,
)
from .case import Case, GradcheckError, Options, as_tuple
from .compare import compare_directions, compare_jacobians
from .deprecated import get_analytical_jacobian, get_numerical_jacobian, get_numerical_jacobian_wrt_specific_input
from .elements import memory_of

# Complex functions as pairs of real ones, since the comparisons of gradcheck are between real quantities.


def outputs_by_part(case: Case) -> list[Case]:
    """The case itself, or with complex outputs two: for their imaginary and for their real parts."""
    if not any(output.is_complex() for output in case.outputs):
        return [case]
    complex_positions = tuple(number for number, output in enumerate(case.checked) if output.is_complex())
    return [
        _part(case, name, _taking(case.func, take), case.inputs, complex_positions)
        for name, take in (("imaginary", F.imag), ("real", F.real))
    ]


def inputs_by_part(case: Case) -> list[Case]:
    """The case itself, or with complex inputs two: as function of their imaginary and of their real parts.

    The other part stays what it is in the inputs, so that the function is only called at points near the given one.
    """
    places = {index for index, x in enumerate(case.inputs) if isinstance(x, Tensor) and x.is_complex()}
    if not places:
        return [case]
    numbers = tuple(number for number, index in enumerate(case.varied_positions) if index in places)
    originals = {index: case.inputs[index].detach() for index in places}
    return [
        _part(case, name, _restoring(case.func, originals, name), _parts_of(case.inputs, places, name), numbers)
        for name in ("imaginary", "real")
    ]


def _part(
    case: Case, name: str, func: Callable[..., Any], inputs: tuple[Any, ...], complex_positions: tuple[int, ...]
) -> Case:
    part = Case.call(func, inputs, case.options)
    return replace(part, forward=case.forward, part=name, complex_positions=complex_positions)


def _taking(func: Callable[..., Any], take: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    def part_of_outputs(*args: Any) -> tuple[Any, ...]:
        return tuple(take(output) if output.is_complex() else output for output in as_tuple(func(*args)))

    return part_of_outputs


def _parts_of(inputs: tuple[Any, ...], places: set[int], name: str) -> tuple[Any, ...]:
    parts = list(inputs)
    for index in places:
        whole = inputs[index].detach()
        part = (whole.imag if name == "imaginary" else whole.real).clone()
        parts[index] = part.requires_grad_(inputs[index].requires_grad)
    return tuple(parts)


def _restoring(func: Callable[..., Any], originals: dict[int, Tensor], name: str) -> Callable[..., Any]:
    def of_part(*args: Any) -> Any:
        whole = list(args)
        for index, original in originals.items():
            part = whole[index]
            whole[index] = original.real + part * 1j if name == "imaginary" else part + original.imag * 1j
        return func(*whole)

    return of_part


__all__ = [
    "GradcheckError",
    "get_analytical_jacobian",
    "get_numerical_jacobian",
    "get_numerical_jacobian_wrt_specific_input",
    "gradcheck",
    "gradgradcheck",
]


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check the gradients of ``func`` at ``inputs`` against central differences with step ``eps``.

    Looks at all inputs that require grad, which should be of double precision, and at all outputs that do. Returns
    ``True``; raises ``GradcheckError`` when something is wrong, or returns ``False`` with ``raise_exception=False``.

    Entries may differ by ``atol + rtol * |numerical|``; two backward passes by ``nondet_tol``. ``fast_mode``
    compares one random product instead of whole matrices. ``check_forward_ad`` and ``check_backward_ad`` choose
    the modes of differentiation. The other checks: gradients that are missing (``check_undefined_grad``), of another
    dtype than the input (``check_grad_dtypes``), computed for a batch (``check_batched_grad``,
    ``check_batched_forward_grad``). ``masked`` only loosens the test with zero gradients from equal to close.

    ``ValueError`` where no input requires grad, ``AssertionError`` for options that contradict each other,
    ``RuntimeError`` for an input whose elements share memory.

    >>> import retrograd as torch
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.exp, x)
    True
    """
    options = Options(
        eps=eps,
        atol=atol,
        rtol=rtol,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_batched_forward_grad=check_batched_forward_grad,
        check_forward_ad=check_forward_ad,
        check_backward_ad=check_backward_ad,
        fast_mode=fast_mode,
        masked=masked,
    )
    options.check_consistent()
    return _check(func, as_tuple(inputs), options, raise_exception)


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check second derivatives of ``func``: :func:`gradcheck` of the function from inputs and gradients of the
    outputs to gradients of the inputs.

    ``grad_outputs`` are drawn from [-1, 1] where not given, with gaps in memory when
    ``gen_non_contig_grad_outputs``. ``check_rev_over_rev`` and ``check_fwd_over_rev`` choose how the gradients are
    differentiated; the other options are those of :func:`gradcheck`, and so is what is raised. ``GradcheckError`` also
    where no output requires grad.
    """
    options = Options(
        eps=eps,
        atol=atol,
        rtol=rtol,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )
    _check_second_order_options(options)
    points = as_tuple(inputs)
    if grad_outputs is None:
        outputs = as_tuple(func(*points))
        vectors = tuple(_random_like(out, gen_non_contig_grad_outputs) for out in outputs if out.requires_grad)
    else:
        vectors = as_tuple(grad_outputs)
    if not vectors and any(isinstance(x, Tensor) and x.requires_grad for x in points):
        if not raise_exception:
            return False
        raise GradcheckError("The function has no output that requires grad, so that there is nothing to check.")
    return _check(_gradient_function(func, points, vectors), points + vectors, options, raise_exception)


def _check(func: Callable[..., Any], inputs: tuple[Any, ...], options: Options, raise_exception: bool) -> bool:
    _check_inputs(inputs)
    try:
        _run_checks(Case.call(func, inputs, options))
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    """``ValueError`` unless an input requires grad; warns of single precision, refuses expanded inputs."""
    varied = [(index, x) for index, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    if not varied:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    for index, x in varied:
        if x.dtype not in (float64, complex128):
            warn(
                f"Input #{index} requires gradient and is not a double precision floating point or complex. This "
                "check will likely fail if all the inputs are not of double precision floating point or complex."
            )
        memory = memory_of(x)
        if any(stride == 0 and size > 1 for stride, size in zip(memory.strides, memory.shape, strict=True)):
            raise RuntimeError(
                f"The {index}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly: several elements of this "
                "one share memory. Call .contiguous() on it before passing it to gradcheck."
            )


def _run_checks(case: Case) -> None:
    """Run the checks that the options ask for; the first that fails raises."""
    # Everything that runs backward comes before check_zero_grads, which frees the graph.
    options = case.options
    compare = compare_directions if options.fast_mode else compare_jacobians
    if options.check_backward_ad:
        for part in outputs_by_part(case):
            compare(part)
    if options.check_forward_ad:
        parts = inputs_by_part(case.in_forward_mode())
        for part in parts:
            compare(part)
        if options.check_undefined_grad:
            for part in parts:
                check_undefined_tangents(part)
    if options.check_batched_forward_grad:
        check_batched_tangents(case)
    if not options.check_backward_ad:
        return
    if options.check_batched_grad:
        check_batched_grads(case)
    check_zero_grads(case)
    if options.check_undefined_grad:
        check_undefined_grads(case)


def _check_second_order_options(options: Options) -> None:
    if not (options.check_forward_ad or options.check_backward_ad):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    for option in ("check_undefined_grad", "check_batched_grad"):
        if getattr(options, option) and not options.check_backward_ad:
            raise AssertionError(f"Setting {option}=True requires check_rev_over_rev to be True")


def _random_like(output: Tensor, with_gaps: bool) -> Tensor:
    shape = tuple(output.shape)
    gaps = with_gaps and len(shape) > 0 and output.numel() > 1
    # Uniform in [-1, 1], for complex types in both parts.
    full = (*shape[:-1], 2 * shape[-1]) if gaps else shape
    values = FUNCTIONS["rand"](full, dtype=output.dtype) * 2
    centred = values - (1 + 1j if output.is_complex() else 1)
    vector: Tensor = (centred[..., ::2] if gaps else centred).detach().requires_grad_(True)
    return vector


def _gradient_function(
    func: Callable[..., Any], points: tuple[Any, ...], vectors: tuple[Any, ...]
) -> Callable[..., tuple[Tensor, ...]]:
    # Remembered here: forward mode calls with detached arguments.
    varied = [isinstance(x, Tensor) and x.requires_grad for x in (*points, *vectors)]

    def gradients(*args: Any) -> tuple[Tensor, ...]:
        tracked = [x.requires_grad_() if on else x for x, on in zip(args, varied, strict=True)]
        arguments = tracked[: len(points)]
        outputs = [output for output in as_tuple(func(*arguments)) if output.requires_grad]
        wanted = [x for x, on in zip(arguments, varied, strict=False) if on]
        results = grad(outputs, wanted, tracked[len(points) :], create_graph=True, allow_unused=True)
        return tuple(result for result in results if result is not None)

    return gradients
