"""``torch.nn.attention.flex_attention``: attention whose scores and mask are functions of the program.

PyTorch calls them for each entry alone; here they are called once, with all places as tensors that broadcast, and for
two entries alone, which must agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ...engine.core.dtypes import bool_, float16, float32, int32
from ...engine.methods import FUNCTIONS
from ...engine.switches.modes import no_grad
from .block_mask import BlockMask, noop_mask

_Mod = Callable[..., Any]


class AuxRequest(NamedTuple):
    """What is to be returned beside the result."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The logarithm of the sum behind each softmax, and its highest score, as far as asked for."""

    lse: Any = None
    max_scores: Any = None


def _places(sizes: tuple[int, ...]) -> list[Any]:
    """The number of each batch, head, query and key, along a dimension of its own."""
    arange = FUNCTIONS["arange"]
    return [arange(n, dtype=int32).view([-1 if i == at else 1 for i in range(4)]) for at, n in enumerate(sizes)]


def _at_each_place(mod: _Mod, sizes: tuple[int, ...], given: tuple[Any, ...] = ()) -> Any:
    """What a function says of each entry; ``given`` are scores, in a mask's case nothing."""
    places = _places(sizes)
    found = mod(*given, *places)
    if getattr(found, "ndim", 0) > 4 or not _agrees(mod, found, sizes, given, places):
        name = getattr(mod, "__name__", "the function")
        raise RuntimeError(
            f"{name} is called with the places of all entries at once and does not say of each what it says of it "
            "alone: index tensors with all places together (bias[h, q_idx - kv_idx] in place of bias[h][q_idx - "
            "kv_idx]), and sum along dimensions that it names, from the last"
        )
    return found.broadcast_to(sizes)


def _agrees(mod: _Mod, found: Any, sizes: tuple[int, ...], given: tuple[Any, ...], places: list[Any]) -> bool:
    """Whether a function says the same of the first and of the last entry alone."""
    if 0 in sizes:
        return True
    with no_grad():
        whole = found.broadcast_to(sizes)
        for at in (0, 0, 0, 0), tuple(n - 1 for n in sizes):
            entry = [place.flatten()[n] for place, n in zip(places, at, strict=True)]
            alone = mod(*(score[at] for score in given), *entry)
            if alone.ndim or not bool(alone.to(float32).isclose(whole[at].to(float32), 1e-3, 1e-5, equal_nan=True)):
                return False
    return True


def create_mask(
    mod_fn: _Mod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None  # noqa: N803 - torch's names
) -> Any:  # fmt: skip
    """Whether each query may see each key, as a tensor."""
    return _at_each_place(mod_fn, (B or 1, H or 1, Q_LEN, KV_LEN)).to(bool_)


def create_block_mask(
    mask_mod: _Mod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None,  # noqa: N803
    BLOCK_SIZE: Any = 128, _compile: bool = False, **options: Any,  # noqa: N803
) -> BlockMask:  # fmt: skip
    """The mask that a function makes, by blocks."""
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    return BlockMask.of_dense(create_mask(mask_mod, B, H, Q_LEN, KV_LEN), size, mask_mod)


def and_masks(*mask_mods: _Mod) -> _Mod:
    """What all of these let through."""
    return _joined(mask_mods, lambda one, other: one & other, True)


def or_masks(*mask_mods: _Mod) -> _Mod:
    """What one of these lets through."""
    return _joined(mask_mods, lambda one, other: one | other, False)


def _joined(mods: tuple[_Mod, ...], join: Callable[[Any, Any], Any], start: bool) -> _Mod:
    if not all(callable(mod) for mod in mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mods}")

    def joined(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        result = b.new_full((), start, dtype=bool_)
        for mod in mods:
            result = join(result, mod(b, h, q_idx, kv_idx))
        return result

    return joined


def _check(query: Any, key: Any, value: Any, block_mask: BlockMask | None, enable_gqa: bool) -> None:
    """Refuse in PyTorch's words what does not fit."""
    if not query.ndim == key.ndim == value.ndim == 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if block_mask is None and query.shape[0] != key.shape[0]:
        raise ValueError(
            "Expect query and key/value to have the same batch size, or non-none block_mask, but got block_mask=None, "
            f"Bq={query.shape[0]}, and Bkv={key.shape[0]}."
        )
    heads = query.shape[1], key.shape[1]
    if not enable_gqa and heads[0] != heads[1]:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={heads[0]} and Hkv={heads[1]}. "
            "Try setting enable_gqa=True for GQA."
        )
    if heads[0] % heads[1]:
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA but got "
            f"Hq={heads[0]} and Hkv={heads[1]}."
        )
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            "Expect query and key/value to have the same embedding dimension but got "
            f"E={query.shape[-1]} and E={key.shape[-1]}."
        )
    lengths = (query.shape[-2], key.shape[-2])
    if block_mask is not None and block_mask.seq_lengths != lengths:
        raise ValueError(
            f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={lengths[0]} and "
            f"kv_len={lengths[1]}. Create one for these lengths."
        )


def flex_attention(
    query: Any, key: Any, value: Any, score_mod: _Mod | None = None, block_mask: BlockMask | None = None,
    scale: float | None = None, enable_gqa: bool = False, return_lse: bool = False, kernel_options: Any = None, *,
    return_aux: AuxRequest | None = None,
) -> Any:  # fmt: skip
    """Attention with scores changed by ``score_mod`` and those alone that the mask lets through; differentiable.

    A query that may see no key gets zeros.
    """
    _check(query, key, value, block_mask, enable_gqa)
    if query.shape[1] != key.shape[1]:
        key, value = (given.repeat_interleave(query.shape[1] // key.shape[1], 1) for given in (key, value))
    exact = query.float() if query.dtype == float16 else query
    scores = exact @ key.to(exact.dtype).mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if score_mod is not None:
        scores = _at_each_place(score_mod, tuple(scores.shape), (scores,))
    if block_mask is not None:
        scores = scores.masked_fill(~_at_each_place(block_mask.mask_mod, tuple(scores.shape)), -math.inf)
    unseen = (scores == -math.inf).all(-1, keepdim=True)
    shares = scores.masked_fill(unseen, 0).softmax(-1).masked_fill(unseen, 0)
    out = shares.to(value.dtype) @ value
    if return_aux is not None:
        return out, AuxOutput(
            scores.logsumexp(-1) if return_aux.lse else None, scores.amax(-1) if return_aux.max_scores else None
        )
    return (out, scores.logsumexp(-1)) if return_lse else out


__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention",
    "noop_mask", "or_masks",
]  # fmt: skip
