"""Random changes to operator samples: other dtypes, layouts, sizes, dimensions, numbers for tensors, wrong types.

A mutation takes a generator and a sample and gives another sample, or ``None`` where it has nothing to change.
``mutated`` applies one to three of them.  The results are calls that may well be refused; what counts is that both
engines say the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from op_samples import Const, Dtype, Sample
from torch_signatures import ANY, REQUIRED, matching

Mutation = Callable[[random.Random, Sample], "Sample | None"]
DTYPES = ("float16", "float32", "float64", "complex64", "complex128", "int64", "int32", "uint8", "bool")
MUTATIONS: list[Mutation] = []


def mutation(change: Mutation) -> Mutation:
    """Publish a mutation."""
    MUTATIONS.append(change)
    return change


def mutated(rng: random.Random, sample: Sample) -> Sample:
    """The sample after one to three changes; ``note`` tells which."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        change = rng.choice(MUTATIONS)
        made = change(rng, sample)
        if made is not None:
            sample = replace(made, note=f"{sample.note} {change.__name__}".strip())
    return sample


def arrays_of(sample: Sample) -> list[int]:
    """Positions of the arguments that are arrays."""
    return [i for i, a in enumerate(sample.args) if isinstance(raw(a), np.ndarray)]


def raw(value: Any) -> Any:
    """The array of a constant, anything else as it is."""
    return value.array if isinstance(value, Const) else value


def like(value: Any, array: Any) -> Any:
    """An array in place of another, constant if that was."""
    return Const(array) if isinstance(value, Const) else array


def with_arg(sample: Sample, i: int, value: Any) -> Sample:
    """The sample with another argument at a position."""
    return replace(sample, args=(*sample.args[:i], value, *sample.args[i + 1 :]))


def converted(array: Any, dtype: str) -> Any:
    """An array of numbers in another dtype; complex ones get an imaginary part."""
    if dtype == "uint8":
        array = np.abs(array.real)
    with np.errstate(all="ignore"):
        if dtype.startswith("complex") and array.dtype.kind == "f":
            array = array + 0.25j * np.flip(array)
        real = array.real if array.dtype.kind == "c" and not dtype.startswith("complex") else array
        return np.asarray(real).astype(dtype)


@mutation
def another_dtype(rng: random.Random, sample: Sample) -> Sample | None:
    """All floating arrays in another dtype."""
    dtype = rng.choice(DTYPES)
    args = tuple(like(a, converted(raw(a), dtype)) if _floats(raw(a)) else a for a in sample.args)
    return replace(sample, args=args) if any(_floats(raw(a)) for a in sample.args) else None


@mutation
def mixed_dtypes(rng: random.Random, sample: Sample) -> Sample | None:
    """One array in another dtype than the others."""
    places = [i for i in arrays_of(sample) if _floats(raw(sample.args[i]))]
    if not places:
        return None
    i = rng.choice(places)
    return with_arg(sample, i, like(sample.args[i], converted(raw(sample.args[i]), rng.choice(DTYPES))))


def _floats(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "fc"


@mutation
def empty_dimension(rng: random.Random, sample: Sample) -> Sample | None:
    """Every dimension of one size becomes empty."""
    sizes = [n for i in arrays_of(sample) for n in raw(sample.args[i]).shape if n]
    if not sizes:
        return None
    gone = rng.choice(sizes)

    def cut(array: Any) -> Any:
        return array[tuple(slice(0, 0) if n == gone else slice(None) for n in array.shape)].copy()

    args = tuple(like(a, cut(raw(a))) if isinstance(raw(a), np.ndarray) else a for a in sample.args)
    return replace(sample, args=args)


@mutation
def zero_dimensional(rng: random.Random, sample: Sample) -> Sample | None:
    """One array shrinks to its first element."""
    places = [i for i in arrays_of(sample) if raw(sample.args[i]).size]
    if not places:
        return None
    i = rng.choice(places)
    return with_arg(sample, i, like(sample.args[i], np.array(raw(sample.args[i]).reshape(-1)[0])))


@mutation
def another_layout(rng: random.Random, sample: Sample) -> Sample | None:
    """One array with gaps, transposed or expanded memory."""
    places = [i for i in arrays_of(sample) if raw(sample.args[i]).ndim >= 1]
    if not places:
        return None
    i = rng.choice(places)
    array = raw(sample.args[i])
    kind = rng.choice(("gaps", "transposed", "expanded"))
    if kind == "transposed":
        array = np.asfortranarray(array)
    elif kind == "gaps":
        array = np.repeat(array, 2, axis=-1)[..., ::2]
    else:
        array = np.broadcast_to(array[..., :1], array.shape)
    return with_arg(sample, i, like(sample.args[i], array))


@mutation
def one_more_dimension(rng: random.Random, sample: Sample) -> Sample | None:
    """All arrays, or one of them, get a leading dimension."""
    places = arrays_of(sample)
    if not places:
        return None
    chosen = places if rng.random() < 0.7 else [rng.choice(places)]
    for i in chosen:
        sample = with_arg(sample, i, like(sample.args[i], raw(sample.args[i])[None]))
    return sample


@mutation
def another_whole_number(rng: random.Random, sample: Sample) -> Sample | None:
    """One whole number among the arguments becomes another: mostly a dimension from the other side."""
    places: list[Any] = [i for i, a in enumerate(sample.args) if type(a) is int]
    places += [k for k, v in sample.kwargs.items() if type(v) is int]
    if not places:
        return None
    place, value = rng.choice(places), rng.choice((-1, -2, 0, 1, 2, 7, -7))
    if isinstance(place, int):
        return with_arg(sample, place, value)
    return replace(sample, kwargs={**sample.kwargs, place: value})


@mutation
def dimension_as_tuple(rng: random.Random, sample: Sample) -> Sample | None:
    """A dimension given as a tuple, a list or nothing."""
    if "dim" in sample.kwargs:
        value = sample.kwargs["dim"]
        other = rng.choice(((value,), [value], (), None, (0, 1), (0, 0))) if type(value) is int else rng.choice((0, -1))
        return replace(sample, kwargs={**sample.kwargs, "dim": other})
    places = [i for i, a in enumerate(sample.args) if type(a) is int]
    if not places:
        return None
    return with_arg(sample, places[0], rng.choice(((sample.args[places[0]],), (0, 1), ())))


@mutation
def keep_dimension(rng: random.Random, sample: Sample) -> Sample | None:
    """``keepdim`` the other way round."""
    if "dim" not in sample.kwargs and "keepdim" not in sample.kwargs:
        return None
    return replace(sample, kwargs={**sample.kwargs, "keepdim": not sample.kwargs.get("keepdim", False)})


@mutation
def number_for_tensor(rng: random.Random, sample: Sample) -> Sample | None:
    """A Python number in place of an array."""
    places = arrays_of(sample)[1:]
    if not places:
        return None
    return with_arg(sample, rng.choice(places), rng.choice((2, 0.5, True, 1j, -1, 0)))


@mutation
def edge_values(rng: random.Random, sample: Sample) -> Sample | None:
    """Zeros, ties and numbers that are not finite in one array."""
    places = [i for i in arrays_of(sample) if _floats(raw(sample.args[i])) and raw(sample.args[i]).size]
    if not places:
        return None
    i = rng.choice(places)
    array = np.array(raw(sample.args[i]))
    array.reshape(-1)[rng.randrange(array.size)] = rng.choice((0.0, 0.0, 1.0, -1.0, float("inf"), float("nan")))
    if array.size > 1 and rng.random() < 0.5:
        array.reshape(-1)[0] = array.reshape(-1)[-1]
    return with_arg(sample, i, like(sample.args[i], array))


@mutation
def wrong_type(rng: random.Random, sample: Sample) -> Sample | None:
    """One argument that no operator takes."""
    if not sample.args:
        return None
    return with_arg(sample, rng.randrange(len(sample.args)), rng.choice(("text", None, 1.5, [1.0], object)))


@mutation
def one_too_many(rng: random.Random, sample: Sample) -> Sample | None:
    """An argument more, or one with an unknown name."""
    if rng.random() < 0.5:
        return replace(sample, kwargs={**sample.kwargs, "no_such_argument": 1})
    return replace(sample, args=(*sample.args, "text"))


@mutation
def one_too_few(rng: random.Random, sample: Sample) -> Sample | None:
    """The last argument left out."""
    return replace(sample, args=sample.args[:-1]) if len(sample.args) > 1 else None


@mutation
def by_keyword(rng: random.Random, sample: Sample) -> Sample | None:
    """Positional arguments from some place on by PyTorch's own names."""
    found = matching(sample.name, sample.args, sample.kwargs)
    if not found or not sample.args:
        return None
    first = rng.randrange(len(sample.args))
    names = [a.name for a in found[0] if not a.keyword_only]
    named = {"input" if n == "self" else n: v for n, v in zip(names[first:], sample.args[first:], strict=False)}
    return replace(sample, args=sample.args[:first], kwargs={**named, **sample.kwargs})


@mutation
def default_spelled(rng: random.Random, sample: Sample) -> Sample | None:
    """One argument that was left out given as what PyTorch takes for it."""
    found = matching(sample.name, sample.args, sample.kwargs)
    if not found:
        return None
    positional = [a.name for a in found[0] if not a.keyword_only][: len(sample.args)]
    left = [a for a in found[0] if a.name not in (*positional, *sample.kwargs) and a.default is not REQUIRED]
    left = [a for a in left if a.type != ANY or a.default is None or type(a.default) in (bool, int, float, str)]
    if not left:
        return None
    chosen = rng.choice(left)
    return replace(sample, kwargs={**sample.kwargs, chosen.name: chosen.default})


@mutation
def other_container(rng: random.Random, sample: Sample) -> Sample | None:
    """A tuple of numbers as a list, or the other way round, or with NumPy's whole numbers in it."""
    places = [i for i, a in enumerate(sample.args) if _numbers_in(a)]
    if not places:
        return None
    i = rng.choice(places)
    value = sample.args[i]
    made = rng.choice((list(value), tuple(value), tuple(np.int64(v) if type(v) is int else v for v in value)))
    return with_arg(sample, i, made)


def _numbers_in(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(type(v) in (int, float) for v in value)


@mutation
def tensor_for_number(rng: random.Random, sample: Sample) -> Sample | None:
    """A number as a tensor without dimensions, or as a number of NumPy's."""
    places: list[Any] = [i for i, a in enumerate(sample.args) if type(a) in (int, float)]
    places += [k for k, v in sample.kwargs.items() if type(v) in (int, float)]
    if not places:
        return None
    place = rng.choice(places)
    value = sample.args[place] if isinstance(place, int) else sample.kwargs[place]
    made = Const(np.array(value)) if rng.random() < 0.6 else np.array(value)
    if isinstance(place, int):
        return with_arg(sample, place, made)
    return replace(sample, kwargs={**sample.kwargs, place: made})


@mutation
def without_gradient(rng: random.Random, sample: Sample) -> Sample | None:
    """All arrays but one ask for no gradient."""
    places = [i for i in arrays_of(sample) if not isinstance(sample.args[i], Const)]
    if len(places) < 2:
        return None
    kept = rng.choice(places)
    args = tuple(Const(a) if i in places and i != kept else a for i, a in enumerate(sample.args))
    return replace(sample, args=args)


@mutation
def asked_dtype(rng: random.Random, sample: Sample) -> Sample | None:
    """A ``dtype=`` where the function has one."""
    found = matching(sample.name, sample.args, sample.kwargs)
    if not any(a.name == "dtype" for signature in found for a in signature):
        return None
    return replace(sample, kwargs={**sample.kwargs, "dtype": Dtype(rng.choice(DTYPES))})


@mutation
def size_one(rng: random.Random, sample: Sample) -> Sample | None:
    """Every dimension of one size shrinks to one element, in one array or in all."""
    places = [i for i in arrays_of(sample) if raw(sample.args[i]).size]
    sizes = [n for i in places for n in raw(sample.args[i]).shape if n > 1]
    if not sizes:
        return None
    size = rng.choice(sizes)
    for i in places if rng.random() < 0.5 else [rng.choice(places)]:
        array = raw(sample.args[i])
        cut = array[tuple(slice(0, 1) if n == size else slice(None) for n in array.shape)].copy()
        sample = with_arg(sample, i, like(sample.args[i], cut))
    return sample
