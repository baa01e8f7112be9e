"""The traits of operators hold for what PyTorch's operators do, and no operator lacks one that it plainly has."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import operator_behaviour as ask  # noqa: E402
from op_samples import all_samples  # noqa: E402

from retrograd.inspect.operators import Trait, canonical, operator, traits_of  # noqa: E402
from retrograd.inspect.operators.table import BOUNDS, FLAT, TRAITS  # noqa: E402

ALWAYS: dict[Trait, Callable[[ask.Probe], bool]] = {
    Trait.LINEAR: ask.linear,
    Trait.SCALING: ask.scaling,
    Trait.CONTRACTION: ask.affine_in_each,
    Trait.ELEMENTWISE: ask.elementwise,
    Trait.ARRANGING: ask.arranged,
    Trait.RESHAPING: ask.in_order,
    Trait.DISCRETE: ask.without_gradient,
    Trait.COMPARISON: ask.truth_values,
    Trait.EVEN: ask.even,
    Trait.DISTANCE: ask.distance,
    Trait.STEP: ask.steps,
    Trait.PRODUCT: ask.affine_in_each,
    Trait.ADDITION: ask.summand,
    Trait.DIFFERENCE: ask.a_difference,
    Trait.DIVISION: ask.divides,
    Trait.PIECEWISE: ask.pieces,
    Trait.CLAMPING: ask.between_bounds,
    Trait.PART: ask.arranged,
    Trait.AVERAGE: ask.averages,
    Trait.SPREAD: ask.deviates,
    Trait.LIKENESS: ask.angles,
    Trait.PROBABILITY: ask.chances,
    Trait.UNIT: ask.of_length_one,
    Trait.POWER: ask.powers,
    Trait.LIKE: ask.shaped,
}
"""What holds of every call of an operator that has the trait."""
SOMETIMES = {
    Trait.VIEW: ask.shares_memory,
    Trait.RANDOM: ask.random,
    Trait.REDUCTION: ask.fewer,
    Trait.JOINING: ask.joined,
    Trait.EXPANDING: ask.overlapping,
}
"""What shows in some calls."""


@cache
def probes() -> dict[str, list[ask.Probe]]:
    """Operator -> a few of its sample calls with a few entries, of real numbers where it takes them."""
    found = defaultdict(list)
    for sample in [
        *ask.own_samples(),
        *(one for one in all_samples() if not (one.call or one.name.startswith("signal."))),
    ]:
        known = found[canonical(sample.name)]
        if len(known) < 2 or sample.call is not None:
            try:
                call = ask.Probe(sample)
                call()
            except Exception:
                continue
            if all(0 < value.numel() <= ask.FEW and not value.is_complex() for value in call.values):
                known.append(call)
    return found


LIMITED = {
    "pad": "a value to pad with is a constant summand",
    "constant_pad_nd": "a value to pad with is a constant summand",
    "trapezoid": "places given as a tensor are factors",
    "cumulative_trapezoid": "places given as a tensor are factors",
    "lerp": "a weight given as a tensor is a factor",
    "stft": "a window given as a tensor is a factor",
    "index_put": "with accumulate=True entries are added up",
    "scatter": "with reduce= entries are added up",
    "to": "numbers are rounded to the dtype",
    "view_copy": "with another dtype it reads the memory anew",
}
"""What does not hold of every call, and why."""
_TWO = 2


def suited(trait: Trait, call: ask.Probe) -> bool:
    """Whether a call can tell of a trait: most need operands with a gradient, some only those."""
    if trait is Trait.LINEAR:
        return bool(call.leaves) and len(call.leaves) == sum(one.is_floating_point() for one in call.given)
    if trait in (Trait.DISTANCE, Trait.DIFFERENCE, Trait.LIKENESS):
        return len(call.leaves) >= _TWO and call.leaves[0].shape == call.leaves[1].shape
    if trait in (Trait.DISCRETE, Trait.COMPARISON, Trait.RANDOM):
        return True
    return bool(call.leaves)


@pytest.mark.parametrize("trait", [*ALWAYS, *SOMETIMES])
def test_a_trait_holds(trait: Trait) -> None:
    """What the table says of operators is what PyTorch's do in the samples."""
    wrong, count = {}, 0
    for name, calls in probes().items():
        calls = [call for call in calls if suited(trait, call)] if trait in traits_of(name) else []
        answers = [(ALWAYS.get(trait) or SOMETIMES[trait])(call) for call in calls]
        count += bool(calls)
        if answers and not (any if trait in SOMETIMES or name in LIMITED else all)(answers):
            wrong[name] = answers

    assert wrong == {}
    assert count >= min(2, len(TRAITS[trait].split()))


SIMILAR = {
    Trait.LINEAR: "nan_to_num nextafter scatter scatter_reduce segment_reduce acosh nll_loss matrix_power chunk_cat "
    "cartesian_prod ormqr unique_consecutive neg_view unsafe_masked_index_put_accumulate",
    Trait.ELEMENTWISE: "expand_as scatter broadcast_tensors neg_view prelu matrix_power margin_ranking_loss "
    "fake_quantize_per_channel_affine",
    Trait.VIEW: "contiguous to conj_physical positive resolve_conj resolve_neg neg_view",
}
"""What looks as if it had a trait in the samples, and has it not in all calls."""


@pytest.mark.parametrize("trait", SIMILAR)
def test_no_operator_lacks_a_trait(trait: Trait) -> None:
    """An operator of which each sample shows a trait has it in the table."""
    lacking = []
    for name, calls in probes().items():
        calls = [call for call in calls if suited(trait, call) and call.leaves and ask.floating(call())]
        if not calls or traits_of(name) & {trait, Trait.CREATION, Trait.RANDOM}:
            continue
        with suppress(RuntimeError, ValueError):  # other values than the sample's are not taken
            if all((ALWAYS.get(trait) or SOMETIMES[trait])(call) for call in calls):
                lacking.append(name)

    assert sorted(set(lacking) - set(SIMILAR[trait].split())) == []


def called_at(name: str, value: float) -> Any:
    """The result of an operator whose operand with poles is this number; ``pow`` is asked for a root."""
    does, number = operator(name), torch.tensor(value, dtype=torch.float64)
    function = next(found for space in (torch, torch.special, torch.linalg) if (found := getattr(space, name, None)))
    if does.is_a(Trait.REDUCTION):
        return function(number.reshape(1, 1))
    other = torch.tensor(0.0 if name == "atan2" else 0.5, dtype=torch.float64)
    return function(other, number) if does.operand else function(number, other) if name == "pow" else function(number)


@pytest.mark.parametrize("name", BOUNDS)
def test_poles_and_domains(name: str) -> None:
    """At a pole the slope is infinite or differs on both sides, and beyond the domain there is no result."""
    does = operator(name)
    low, high = does.domain
    for pole in does.poles:
        at = float(called_at(name, pole))
        sides = [pole + step for step in (-1e-7, 1e-7) if low <= pole + step <= high]
        slopes = [(float(called_at(name, side)) - at) / (side - pole) for side in sides]
        steep = any(not math.isfinite(slope) or abs(slope) > 100 for slope in slopes)
        assert not math.isfinite(at) or steep or abs(slopes[0] - slopes[-1]) > 0.5
    for end, beyond in ((low, low - 0.1), (high, high + 0.1)):
        assert math.isinf(end) or math.isnan(called_at(name, beyond))
    assert math.isfinite(called_at(name, min(max(0.7, low), high) if low < 1.0 else 1.5))


@pytest.mark.parametrize("name", FLAT)
def test_flat_ends(name: str) -> None:
    """Results beyond the ends that the table names have a slope of next to nothing, others have one."""
    low, high = FLAT[name]
    x = torch.linspace(-60, 60, 4001, requires_grad=True)
    functional = getattr(torch.nn.functional, name)
    if name == "softmax":
        out = functional(torch.stack([x, torch.zeros_like(x)], -1), dim=-1)[..., 0]
    else:
        out = functional(x, *[0.0, 0.0] if name == "threshold" else [])
    (slope,) = torch.autograd.grad(out.sum(), x)
    flat = (out <= low) | (out >= high)

    assert flat.any()
    assert (slope[flat].abs() < 2e-7).all()
    assert (slope[~flat].abs() > 0).all()
