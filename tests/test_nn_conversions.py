"""``Module.to`` and its kin, which all go through ``_apply``; what ``Tensor.to`` is asked for; beside PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
from both_engines import assert_agree


def test_parameters_stay_and_buffers_are_replaced() -> None:
    """V-: a parameter and its gradient take other data, a buffer another tensor; a graph recorded before runs on."""

    def program(engine: Any) -> Any:
        layer = engine.nn.BatchNorm1d(2)
        weight, mean = layer.weight, layer.running_mean
        loss = layer(engine.tensor([[1.0, 2.0], [3.0, 5.0]])).square().sum()
        weight.grad = held = engine.ones(2)
        layer.double()
        loss.backward(inputs=[layer.bias])
        return [
            layer.weight is weight, layer.weight.grad is held, held, layer.running_mean is mean, mean,
            layer.running_mean, layer.num_batches_tracked, layer.bias.grad,
        ]  # fmt: skip

    assert_agree(program)


def test_buffers_with_a_history() -> None:
    """V-: the conversion of a buffer is recorded, that of a parameter is not."""

    def program(engine: Any) -> Any:
        module = engine.nn.Module()
        module.p = engine.nn.Parameter(engine.ones(1))
        module.register_buffer("b", module.p * 2)
        module.double()
        return [module.b.grad_fn.name(), module.p.is_leaf]

    assert_agree(program)


def test_modules_take_further_tensors_along() -> None:
    """``_apply`` of a program's own is asked in every conversion, at any depth."""

    def program(engine: Any) -> Any:
        class Holder(engine.nn.Module):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.plain, self.asked = engine.ones(1), 0

            def _apply(self, fn: Any, recurse: bool = True) -> Any:
                super()._apply(fn, recurse)
                self.plain, self.asked = fn(self.plain), self.asked + 1
                return self

        model = engine.nn.Sequential(Holder(), engine.nn.Linear(1, 1))
        model.double()
        seen = [model[0].plain]
        model.to(engine.float16).cpu().float().type(engine.float64).to_empty(device="meta")
        return [*seen, model[0].asked, model[0].plain.device.type, model[1].weight.device.type]

    assert_agree(program)


def test_complex_parameters() -> None:
    """``double`` and ``half`` leave complex numbers as they are, ``to`` converts them."""

    def program(engine: Any) -> Any:
        module = engine.nn.Module()
        module.p = engine.nn.Parameter(engine.ones(1, dtype=engine.complex64))
        return [str(module.double().p.dtype)[-9:], str(module.to(engine.complex128).p.dtype)[-10:]]

    assert_agree(program)


def test_memory_that_comes_separates_tied_parameters() -> None:
    """Each module gets a parameter of its own when those of the meta device get memory."""

    def program(engine: Any) -> Any:
        first, second = (engine.nn.Linear(2, 2, device="meta") for _ in range(2))
        second.weight = first.weight
        first.weight.grad = engine.ones(2, 2, device="meta")
        engine.nn.Sequential(first, second).to_empty(device="cpu")
        return [first.weight is second.weight, type(first.weight).__name__, first.weight.grad.device.type]

    assert_agree(program)


def test_layers_without_shapes() -> None:
    """Parameters and buffers without shapes take another dtype, and stay without shapes."""

    def program(engine: Any) -> Any:
        nn = engine.nn
        model = nn.Sequential(nn.LazyConv1d(3, 2), nn.LazyBatchNorm1d(), nn.Flatten(), nn.LazyLinear(2)).double()
        kinds = [(name, type(t).__name__, str(t.dtype)[-7:]) for name, t in model.state_dict().items()]
        return [kinds, list(model(engine.ones(2, 3, 4, dtype=engine.float64)).shape)]

    assert_agree(program)


def test_absent_devices() -> None:
    """A module without tensors has nothing that could not be moved."""

    def program(engine: Any) -> Any:
        return [type(getattr(engine.nn.ReLU(), name)()).__name__ for name in ("cuda", "xpu", "mtia", "bfloat16")]

    assert_agree(program)
    assert_agree(lambda engine: engine.nn.Linear(1, 1).cuda(), phrase="Torch not compiled with CUDA enabled")


FORMS = """
x.to(d, f)
x.to("cpu", "cpu")
x.to(d, dtype=f)
x.to("cpu", device="cpu")
x.to(d, "cpu")
x.to(d, True, True)
x.to(d, True, True, True)
x.to(x.double(), True)
x.to(x.double(), d)
x.to(None)
x.to(None, d)
x.to(d, None)
x.to(other=x.double())
x.to("cpu", True)
x.to("cpu", None, True)
x.to("cpu", d, False, True)
x.to(copy=True)
x.to(float)
x.to(dtype=int)
x.to(foo=1)
nn.Linear(1, 1).to(d, f).weight
nn.Linear(1, 1).to("cpu", d).weight.dtype == d
nn.Linear(1, 1).to(x.double()).weight.dtype == d
nn.Linear(1, 1).to(float).weight.dtype == d
nn.Linear(1, 1).to(int)
""".strip().splitlines()


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_to(form: str) -> None:
    """A device, a dtype or both, or a tensor; nothing twice, and flags are truth values."""

    def program(engine: Any) -> Any:
        x = engine.ones(2)
        found = eval(form, {"x": x, "d": engine.float64, "f": engine.float32, "nn": engine.nn})
        return [found, found is x]

    wanted = assert_agree(program)
    if wanted.error == "TypeError" and "foo" not in form:
        assert "received an invalid combination of arguments" in wanted.message or "only accepts" in wanted.message


def test_modules_are_not_copied() -> None:
    """``to(copy=True)`` is refused by modules, whose parameters stay what they are."""

    def program(engine: Any) -> Any:
        layer, found = engine.nn.Linear(1, 1), []
        for args, kwargs in [(("cpu",), {"copy": True}), (("cpu", engine.float64, True, True), {})]:
            with pytest.raises(RuntimeError, match="does not accept copy argument"):
                layer.to(*args, **kwargs)
            found.append(layer.weight.dtype)
        return found

    assert_agree(program)
