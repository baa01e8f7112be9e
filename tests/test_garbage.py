"""The garbage collector is at rest during large work, and afterwards as it was."""

from __future__ import annotations

import gc
import threading

import pytest

from retrograd.inspect.garbage import collector_paused


def test_the_collector_is_as_before_also_after_an_error() -> None:
    """On stays on, off stays off, and inside it is off."""
    with collector_paused():
        assert not gc.isenabled()
    with pytest.raises(ValueError, match="x"), collector_paused():
        raise ValueError("x")
    assert gc.isenabled()
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_program_with_threads_of_its_own_keeps_its_collector() -> None:
    """Another thread might switch it at this moment, so nobody touches it."""
    done = threading.Event()
    thread = threading.Thread(target=done.wait, daemon=True)
    thread.start()
    try:
        with collector_paused():
            assert gc.isenabled()
    finally:
        done.set()
        thread.join()
