"""Evidence of a step that went wrong: the step is repeated under full recording in a child process, and diagnosed.

The child is a copy of the program in its current state; the program itself keeps its state whatever the repeated lines
change. Whether the repeated step is the same is checked: its loss must be equal to the bit.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..diagnosis import diagnose
from ..process.recorder import recording
from ..render import RenderOptions
from ..render.formats.json_ import RENDERER
from ..writing import write_output
from .meter import Meter
from .replay import CannotRepeat, Frame, Place, StepCode, steps_left_out

_LIMIT = 120.0
"""Seconds after which a child process is killed."""


def repeated(meter: Meter, place: Place, optimizers: list[Any], file: str) -> dict[str, Any]:
    """Run the current step again and save its recording; return the outcome as JSON values.

    Keys: ``file`` (the recording), ``loss`` (of the repetition), ``equal`` (to the bit), ``findings``; or ``reason``,
    why it could not be repeated.
    """
    reason = meter.engine.why_not_repeated()
    if not hasattr(os, "fork"):
        reason = "this system cannot copy a process"
    if meter.before is None:
        reason = "replay=True was not asked for"
    if not reason and not place.frames:
        reason = "no line of the program was found that steps"
    if reason:
        return {"reason": reason}
    found: dict[str, Any] = {}
    for around in place.frames:
        try:
            code = StepCode(around)
        except CannotRepeat as error:
            return found or {"reason": str(error)}
        found = {"reason": code.why_not}
        if not code.why_not:
            found = _in_child(partial(_run_again, meter, code, around, optimizers, file))
        if found.get("equal") or code.is_turn:
            break
    return found


def _run_again(meter: Meter, code: StepCode, frame: Frame, optimizers: list[Any], file: str) -> dict[str, Any]:
    """Run the step again, in the child."""
    assert meter.before is not None, "asked before"
    meter.before.put_back(meter.values_before())
    if meter.scaler is not None:
        meter.engine.ready_again(meter.scaler)
    with meter.engine.hear(meter), meter.repeating(), steps_left_out(optimizers), recording(level="full") as recorded:
        code.run(frame.variables, frame.namespace())
    losses = meter.losses_again()
    if not losses:
        return {"reason": "no backward pass is in its lines"}
    findings = diagnose(recorded)
    write_output(RENDERER.render(recorded, RenderOptions()), file)
    last = meter.exact[-len(losses) :]
    return {
        "file": os.path.basename(file),
        "loss": repr(losses[-1]),
        "equal": np.array_equal(losses, last, equal_nan=True),
        "part": f"the last {len(last)} of {len(meter.exact)} backward passes" if len(last) < len(meter.exact) else "",
        "findings": [one.to_plain() for one in findings],
    }


def _in_child(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Run some work in a forked child and return its result."""
    receiving, sending = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, from Python 3.12 on
        child = os.fork()
    if not child:
        _be_child(work, sending)
    os.close(sending)
    text, ended = _read(receiving, time.monotonic() + _LIMIT)
    os.close(receiving)
    if not ended:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    try:
        found: dict[str, Any] = json.loads(text)
        return found
    except ValueError:
        return {"reason": "the repetition " + ("ended early" if ended else f"took longer than {_LIMIT:.0f} s")}


def _be_child(work: Callable[[], dict[str, Any]], sending: int) -> None:
    """Run the work silently, send its result, and exit at once: none of the program's own exit code runs here."""
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        result: dict[str, Any] = {}
        # On a thread of its own: those that compute for this one are not in the child, a new one gets new ones.
        thread = threading.Thread(target=lambda: result.update(_worked(work)))
        thread.start()
        thread.join()
        with os.fdopen(sending, "w", encoding="utf-8") as pipe:
            pipe.write(json.dumps(result))
    finally:
        os._exit(0)


def _worked(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the result of some work, or a reason if it raised."""
    try:
        return work()
    except BaseException as error:
        return {"reason": f"repeating it raised {type(error).__name__}: {error}"}


def _read(receiving: int, until: float) -> tuple[str, bool]:
    """Return the bytes from a pipe, and whether its end came in time."""
    import select

    parts: list[bytes] = []
    while (left := until - time.monotonic()) > 0:
        if select.select([receiving], [], [], left)[0]:
            part = os.read(receiving, 1 << 16)
            if not part:
                return b"".join(parts).decode("utf-8"), True
            parts.append(part)
    return "", False
