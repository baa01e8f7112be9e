"""The state of a generator, and PyTorch's layout of it in bytes."""

from __future__ import annotations

import struct
from typing import Any, Final, NamedTuple

import numpy as np

KEY_WORDS: Final = 624
_HEAD: Final = struct.Struct("<QiiQ")  # the seed, words left, whether seeded, the next word
_TAIL: Final = struct.Struct("<dddi4x")  # zero, the spare number, zero, whether there is one
_UNUSED: Final = bytes(8)
"""A spare number of single precision, which no CPU stream has."""
STATE_BYTES: Final = _HEAD.size + 8 * KEY_WORDS + _TAIL.size + len(_UNUSED)


class State(NamedTuple):
    """A generator at one moment."""

    seed: int
    key: Any
    place: int
    """How many words of the key are used up."""
    spare: float | None
    """The second of two normal numbers, if only the first was asked for."""


def packed(state: State) -> bytes:
    """The state as PyTorch's ``get_state`` writes it."""
    fresh = state.place == KEY_WORDS and int(state.key[0]) == state.seed % 2**32
    head = _HEAD.pack(state.seed, max(KEY_WORDS + 1 - state.place, 1), 1, 0 if fresh else state.place)
    tail = _TAIL.pack(0.0, state.spare or 0.0, 0.0, state.spare is not None)
    key: bytes = state.key.astype("<u8").tobytes()
    return head + key + tail + _UNUSED


def unpacked(raw: bytes) -> State:
    """The state in bytes that ``packed`` or PyTorch wrote; ``RuntimeError`` for others."""
    if len(raw) != STATE_BYTES:
        raise RuntimeError(
            f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found the input RNG state size to be "
            f"{len(raw)}"
        )
    seed, left, seeded, following = _HEAD.unpack_from(raw)
    if not seeded or not 0 < left <= KEY_WORDS or following > KEY_WORDS:
        raise RuntimeError("Invalid mt19937 state")
    key = np.frombuffer(raw, "<u8", KEY_WORDS, _HEAD.size).astype(np.uint32)
    _, spare, _, valid = _TAIL.unpack_from(raw, _HEAD.size + 8 * KEY_WORDS)
    return State(seed, key, KEY_WORDS if left == 1 else following, spare if valid else None)
