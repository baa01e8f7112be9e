"""SPEC rows E-27 to E-30: grad modes as contexts and decorators, inference mode."""

from __future__ import annotations

import asyncio
import threading

import pytest
from both_engines import differential, raises, warned

import retrograd


@differential
def test_E_27_contexts(torch):
    """E-27: nested contexts restore, also after exceptions; leaves can be made in no_grad."""
    on = torch.is_grad_enabled
    found = [on()]
    with torch.no_grad():
        found.append(on())
        with torch.enable_grad():
            found.append(on())
        found.append(on())
        made = torch.ones(1, requires_grad=True)
        switched = torch.ones(1).requires_grad_()
        found += [made.requires_grad, switched.requires_grad, (made * 2).requires_grad, (made * 2).grad_fn]
        with torch.set_grad_enabled(True):
            found.append((made * 2).requires_grad)
    try:
        with torch.no_grad():
            raise KeyError("x")
    except KeyError:
        found.append(on())
    return found


@differential
def test_E_27_set_grad_enabled(torch):
    """E-27: acts when made, as a context restores what was before that, as a decorator takes the effect back."""
    on = torch.is_grad_enabled
    found = []
    context = torch.set_grad_enabled(False)
    found.append(on())
    with context:
        found.append(on())
    found.append(on())

    @torch.set_grad_enabled(False)
    def decorated():
        return on()

    found += [on(), decorated(), on()]
    torch.set_grad_enabled(False)
    found.append(on())
    torch.set_grad_enabled(True)
    found.append(on())
    return found, raises("", torch.set_grad_enabled, 3), raises("", torch.set_grad_enabled, "yes"), on()


@differential
def test_E_27_thread_local(torch):
    """E-27: a mode is that of one thread; the setter of torch._C is the same switch."""
    import threading

    seen = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: seen.append(torch.is_grad_enabled()))
        thread.start()
        thread.join()
    torch._C._set_grad_enabled(False)
    seen += [torch.is_grad_enabled(), torch._C.is_grad_enabled()]
    torch._C._set_grad_enabled(True)
    return seen


@differential
def test_E_28_functions(torch):
    """E-28: with and without parentheses, a fresh context per call, names kept, methods work, exceptions restore."""
    on = torch.is_grad_enabled

    @torch.no_grad
    def bare(x, *, y=1):
        "doc"
        return on(), x, y

    @torch.no_grad()
    def called(depth):
        with torch.enable_grad():
            return [on(), *(called(depth - 1) if depth else []), on()]

    class Model:
        @torch.no_grad()
        def step(self):
            return on(), type(self).__name__

    @torch.enable_grad()
    def fails():
        raise KeyError("x")

    @torch.no_grad()
    def bool_from_default(flag=True):
        return on() == flag

    with torch.no_grad():
        error = raises("x", fails)
        after = on()
    return (
        bare(3, y=2), called(2), on(), bare.__name__, bare.__doc__, Model().step(), error, after, bool_from_default(),
        torch.inference_mode()(lambda: torch.is_inference_mode_enabled())(),
    )  # fmt: skip


@differential
def test_E_28_generators(torch):
    """E-28: a decorated generator has the mode whenever it runs and not while it is suspended."""
    on = torch.is_grad_enabled

    @torch.no_grad()
    def steps():
        try:
            got = yield on()
            seen.append((got, on()))
            yield on()
        except KeyError:
            seen.append(("thrown", on()))
            yield "caught"
        finally:
            seen.append(("closed", on()))
        return "result"

    seen = []
    gen = steps()
    values = [next(gen), on(), gen.send("sent"), on(), gen.throw(KeyError("k")), on()]
    try:
        next(gen)
    except StopIteration as stop:
        values.append(stop.value)
    values.append(on())
    other = steps()
    next(other)
    other.close()
    values.append(on())
    return values, seen


@differential
def test_E_28_generator_whose_consumer_changes_the_mode(torch):
    """E-28: what the consumer switches between two steps stays the consumer's."""
    on = torch.is_grad_enabled

    @torch.enable_grad()
    def steps():
        for _ in range(3):
            yield on()

    found = []
    with torch.no_grad():
        for inside in steps():
            found.append((inside, on()))
    return found, on()


def test_E_28_coroutines():
    """E-28: a decorated coroutine has the mode while it runs and gives it back while it waits (PyTorch: not at all)."""
    on = retrograd.is_grad_enabled
    seen = []

    @retrograd.no_grad()
    async def work():
        seen.append(("first", on()))
        await asyncio.sleep(0)
        seen.append(("second", on()))
        return "result"

    async def other():
        seen.append(("other", on()))
        await asyncio.sleep(0)

    async def both():
        return await asyncio.gather(work(), other())

    assert asyncio.run(both()) == ["result", None]
    assert sorted(seen) == [("first", False), ("other", True), ("second", False)]
    assert on()


@differential
def test_E_28_classes(torch):
    """E-28: decorating a class is deprecated; what comes out constructs under the mode."""

    class Thing:
        def __init__(self):
            self.mode = torch.is_grad_enabled()

    names, decorated = warned("Decorating classes is deprecated", torch.no_grad(), Thing)
    return names, decorated().mode, isinstance(decorated, type), torch.is_grad_enabled()


def test_E_29_one_instance_nested_in_itself():
    """E-29: nesting one object in itself restores every level (PyTorch leaves recording off)."""
    context = retrograd.no_grad()
    with context:
        with context:
            assert not retrograd.is_grad_enabled()
        assert not retrograd.is_grad_enabled()
    assert retrograd.is_grad_enabled()


def test_E_29_one_instance_in_two_threads():
    """E-29: each thread gets back what it had, whichever leaves the block first (PyTorch mixes them up)."""
    for context in (retrograd.no_grad(), retrograd.enable_grad(), retrograd.inference_mode()):
        inside, left, found = threading.Event(), threading.Event(), []

        def other(context=context, inside=inside, left=left, found=found):
            with retrograd.set_grad_enabled(False):
                with context:
                    inside.set()
                    left.wait(10)
                found.append(retrograd.is_grad_enabled())

        thread = threading.Thread(target=other)
        thread.start()
        inside.wait(10)
        with context:
            pass
        found.append(retrograd.is_grad_enabled())
        left.set()
        thread.join()
        assert found == [True, False]


@differential
def test_E_29_blocks_left_once_more(torch):
    """E-29: leaving a block that was left, or never entered, restores what was before the last one."""
    found = []
    for context in (torch.no_grad(), torch.enable_grad()):
        with context:
            pass
        context.__exit__(None, None, None)
        found.append(torch.is_grad_enabled())
    with torch.enable_grad():
        torch.no_grad().__exit__(None, None, None)
        found.append(torch.is_grad_enabled())
    return [*found, raises("prev", torch.enable_grad().__exit__, None, None, None)]


@differential
def test_E_29_one_instance_used_twice(torch):
    """E-29: one object can be used several times in a row."""
    context = torch.no_grad()
    found = []
    for _ in range(2):
        with context:
            found.append(torch.is_grad_enabled())
        found.append(torch.is_grad_enabled())
    return found


@differential
def test_E_30_inference_mode(torch):
    """E-30: results are inference tensors, grad mode reads False, False inside switches back, enable_grad does not."""
    on, inside = torch.is_grad_enabled, torch.is_inference_mode_enabled
    a = torch.ones(2, requires_grad=True)
    found = [inside()]
    with torch.inference_mode():
        made = a * 2
        found += [inside(), on(), made.is_inference(), made.requires_grad, torch.is_inference(made)]
        with torch.inference_mode(False):
            normal = a * 3
            found += [inside(), on(), normal.is_inference(), normal.requires_grad]
        with torch.enable_grad():
            found += [on(), (a * 2).requires_grad, inside()]
        view = a.view(2, 1)
        found.append(view.is_inference())
    with torch.inference_mode(mode=False):
        found += [inside(), on()]

    @torch.inference_mode()
    def decorated():
        return inside()

    @torch.inference_mode
    def bare():
        return inside()

    found += [decorated(), bare(), inside()]
    return (
        found, made._is_view(), raises("Inference tensors cannot be saved for backward", lambda: made * a),
        raises("Inplace update to inference tensor outside InferenceMode", made.add_, 1),
        raises("do not track version counter", getattr, made, "_version"), made.clone().is_inference(),
    )  # fmt: skip


@differential
def test_E_30_forward_tangents_are_dropped(torch):
    """E-30: inside inference mode results carry no tangent."""
    forward = torch.autograd.forward_ad
    with forward.dual_level():
        dual = forward.make_dual(torch.ones(2), torch.ones(2))
        with torch.inference_mode():
            result = dual * 2
            return forward.unpack_dual(result).tangent


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode", "set_grad_enabled"])
def test_E_27_the_process_wide_count_comes_back(mode):
    """E-27: whatever is switched on and off, the fast path of operations is free again afterwards."""
    from retrograd.engine.switches import state

    before = state.MODE
    switch = getattr(retrograd, mode)
    for _ in range(3):
        with switch(*((False,) if mode == "set_grad_enabled" else ())), retrograd.enable_grad(), retrograd.no_grad():
            retrograd.ones(1)
    assert state.MODE == before
