"""Recorded calls compute in a context of their own, in which NumPy does not warn: what a program can notice of that."""

from __future__ import annotations

import contextvars
import copy
import signal
import threading
import warnings

import numpy as np
import pytest

import retrograd
from retrograd.engine.calls.fast_writes import fast_write
from retrograd.engine.core.registry import OPS
from retrograd.engine.generated.fast_path import with_fast_path
from retrograd.engine.switches.quiet import run_quietly


@pytest.fixture(autouse=True)
def _warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def _product_and_gradient():
    x = retrograd.full((3,), 1e30, requires_grad=True)
    y = x * x
    y.sum().backward()
    return y.tolist(), x.grad.tolist()


def test_overflow_is_silent_and_numpy_still_warns():
    assert _product_and_gradient()[0] == [np.inf] * 3
    with pytest.raises(RuntimeWarning, match="overflow"):
        np.full(3, 1e30, np.float32) * np.full(3, 1e30, np.float32)


def test_a_call_while_the_context_is_taken():
    """As from a finalizer that the collector runs within a kernel: the general path computes."""
    assert run_quietly(_product_and_gradient) == _product_and_gradient()


def test_an_error_between_two_pieces_of_a_write_is_not_lost():
    """As from a signal's handler, which Python runs between two calls of NumPy: nothing is written twice for it."""
    row = copy.copy(OPS["sub"])

    def interrupted(array, *rest):
        array[:2] -= 1.0
        raise RuntimeError("time is up")

    row.into = interrupted
    write = fast_write(row, retrograd.Tensor.sub_)
    x = retrograd.zeros(4)
    with pytest.raises(RuntimeError, match="time is up"):
        write(x, retrograd.ones(4))
    assert x.tolist() == [-1.0, -1.0, 0.0, 0.0]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="only there does a timer send signals")
@pytest.mark.parametrize("error", [RuntimeError, ValueError, TypeError, OverflowError])
def test_an_error_of_a_signals_handler_within_a_kernel_reaches_the_program(error):
    """Python runs handlers between the functions of NumPy that a kernel consists of: F.mish of 4 MB has several."""

    def ring(*_):
        raise error("time is up")

    x = retrograd.ones(1_000_000, requires_grad=True)
    retrograd.nn.functional.mish(x)  # its kernel is made at the first call

    def compute():
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        retrograd.nn.functional.mish(x)

    before = signal.signal(signal.SIGALRM, ring)
    try:
        with pytest.raises(error, match="time is up"):
            compute()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_kernel_of_the_program_that_fails_is_not_called_again():
    row, calls = copy.copy(OPS["exp"]), []

    def failing(array):
        if isinstance(array, np.ndarray):  # else it is only read
            calls.append(array)
        raise ValueError("mine")

    row.forward = failing
    call = with_fast_path(row, lambda *_: calls.append("general"), "row")
    with pytest.raises(ValueError, match="mine"):
        call(retrograd.ones(2))
    assert len(calls) == 1


def test_errors_keep_their_words():
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        retrograd.mm(retrograd.ones(2, 3), retrograd.ones(2, 3))


def test_context_variables_of_the_program_stay():
    mine = contextvars.ContextVar("mine", default=0)
    token = mine.set(5)
    _product_and_gradient()
    assert mine.get() == 5
    mine.reset(token)


def test_threads_compute_at_the_same_time():
    """NumPy lets other threads run while it computes, and only one of them is in the context."""
    array = np.linspace(-3, 3, 50_000)
    wanted = np.tanh(array) * array + array
    wrong = []

    def work():
        x = retrograd.from_numpy(array)
        wrong.extend(i for i in range(40) if not np.array_equal((retrograd.tanh(x) * x + x).numpy(), wanted))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
