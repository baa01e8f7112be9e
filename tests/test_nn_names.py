"""Names of ``torch.nn`` that real programs import: classes and their bases, single-device parallelism, fused layers."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest
from both_engines import assert_agree

import retrograd

torch = pytest.importorskip("torch")


def at(engine: Any, path: str) -> Any:
    """A module of an engine, or a name in it."""
    try:
        return importlib.import_module(f"{engine.__name__}.{path}")
    except ModuleNotFoundError:
        room, _, name = path.rpartition(".")
        return getattr(importlib.import_module(f"{engine.__name__}.{room}"), name)


def message(call: Any) -> str:
    """What a call says when it raises."""
    with pytest.raises((AssertionError, ValueError)) as caught:
        call()
    return f"{type(caught.value).__name__}: {caught.value}".replace("retrograd", "torch")


def test_a_layer_is_an_instance_of_no_other_family() -> None:
    """Programs ask ``isinstance(m, nn.Conv1d)``: no class of layers has a base that it has not in PyTorch."""
    classes = {
        name: (theirs, getattr(retrograd.nn, name))
        for name, theirs in vars(torch.nn).items()
        if inspect.isclass(theirs) and hasattr(retrograd.nn, name) and not name.startswith("Lazy")
    }
    wrong = [
        (one, base)
        for one, (_, ours) in classes.items()
        for base, (_, our_base) in classes.items()
        if issubclass(ours, our_base) and not issubclass(classes[one][0], classes[base][0])
    ]
    assert wrong == []


BASES = """
nn.modules.batchnorm._BatchNorm nn.BatchNorm2d
nn.modules.batchnorm._BatchNorm nn.LayerNorm
nn.modules.instancenorm._InstanceNorm nn.InstanceNorm1d
nn.modules.conv._ConvNd nn.ConvTranspose2d
nn.modules.conv._ConvTransposeNd nn.Conv2d
nn.modules.loss._Loss nn.MSELoss
nn.modules.loss._WeightedLoss nn.CrossEntropyLoss
nn.modules.loss._WeightedLoss nn.MSELoss
nn.modules.rnn.RNNCellBase nn.GRUCell
nn.modules.flatten.Flatten nn.Flatten
nn.modules.upsampling.Upsample nn.Upsample
nn.modules.pixelshuffle.PixelShuffle nn.PixelShuffle
nn.modules.fold.Unfold nn.Unfold
nn.parallel.DataParallel nn.DataParallel
"""


@pytest.mark.parametrize("row", BASES.strip().splitlines())
def test_bases_by_the_names_of_their_files(row: str) -> None:
    """Each base is found in the module in which PyTorch has it."""
    base, layer = row.split()
    assert_agree(lambda engine: issubclass(at(engine, layer), at(engine, base)))


def test_children_are_asked_to_change_their_mode() -> None:
    """A layer that overrides ``train``, as frozen normalization and merged adapters do, hears of it."""

    def program(engine: Any) -> Any:
        heard: list[bool] = []

        class Frozen(engine.nn.Linear):  # type: ignore[misc]
            def train(self, mode: bool = True) -> Any:
                heard.append(mode)
                return super().train(False)

        net = engine.nn.Sequential(engine.nn.Sequential(Frozen(2, 2)), engine.nn.Dropout())
        net.train()
        modes = [m.training for m in net.modules()]
        net.eval()
        return heard, modes

    assert_agree(program)


def test_losses_of_programs() -> None:
    """``_Loss`` and ``_WeightedLoss`` keep the reduction and the weight of losses that are written on them."""

    def program(engine: Any) -> Any:
        loss = at(engine, "nn.modules.loss")

        class Focal(loss._WeightedLoss):  # type: ignore[misc]
            def forward(self, scores: Any, target: Any) -> Any:
                return engine.nn.functional.cross_entropy(scores, target, self.weight, reduction=self.reduction)

        focal = Focal(engine.tensor([1.0, 2.0]), reduction="sum")
        target = engine.tensor([0, 1])
        return [focal(engine.ones(2, 2), target), sorted(focal.state_dict()), loss._Loss().reduction]

    assert_agree(program)


def test_fused_layers() -> None:
    """A convolution or linear layer with the normalization after it in one."""

    def program(engine: Any) -> Any:
        made = []
        for dims, layer, norm in ((4, engine.nn.Conv2d(2, 3, 2), engine.nn.BatchNorm2d(3)),
                                  (2, engine.nn.Linear(2, 3, bias=False), engine.nn.BatchNorm1d(3))):  # fmt: skip
            engine.nn.init.constant_(layer.weight, 0.25)
            layer.bias = None
            norm.running_mean += engine.arange(3.0)
            norm.running_var += engine.arange(3.0)
            x = engine.arange(float(2 * 3 ** (dims - 2) * 2)).reshape(2, 2, *([3] * (dims - 2)))
            fuse = engine.nn.utils.fuse_conv_bn_eval if dims == 4 else at(engine, "nn.utils.fusion").fuse_linear_bn_eval
            made.append(message(lambda: fuse(layer, norm)))
            fused = fuse(layer.eval(), norm.eval())
            made += [fused(x), engine.allclose(fused(x), norm(layer(x)), atol=1e-5)]
        return made

    assert_agree(program)


def test_modules_in_other_places() -> None:
    """``set_submodule``, multiplied containers, wrappers for several devices, normalization over processes."""

    def program(engine: Any) -> Any:
        nn = engine.nn
        net = nn.Sequential(nn.Conv2d(1, 2, 1), nn.Sequential(nn.BatchNorm2d(2), nn.ReLU()))
        net.set_submodule("1.1", nn.Tanh())
        seen: list[Any] = [repr(net), message(lambda: net.set_submodule("", nn.ReLU()))]
        seen.append(repr(nn.SyncBatchNorm.convert_sync_batchnorm(net)))
        wrapped = nn.DataParallel(nn.Linear(2, 1))
        seen += [list(wrapped.state_dict()), repr(wrapped), tuple(wrapped(engine.ones(3, 2)).shape)]
        twice = nn.Sequential(nn.Linear(1, 1)) * 2
        seen += [repr(twice), twice[0] is twice[1], message(lambda: twice * 0)]
        conv = nn.Conv2d(1, 1, 1)
        seen.append(tuple(conv._conv_forward(engine.ones(1, 1, 2, 2), conv.weight * 0, None).shape))
        seen.append(repr(nn.utils.skip_init(nn.Linear, 2, 3)))
        pairs = at(engine, "nn.modules.utils")
        seen += [pairs._pair(3), pairs._triple((1, 2, 3)), pairs._reverse_repeat_tuple((1, 2), 2)]
        with nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH), engine.device("cpu"):
            seen.append(str(engine.ones(1).device))
        return seen

    at(torch, "nn.attention")
    assert_agree(program)


def test_settings_of_absent_libraries_are_modules() -> None:
    """``import torch.backends.cudnn as cudnn`` gives the settings that ``torch.backends.cudnn`` has."""
    settings = importlib.import_module("retrograd.backends.cudnn")
    before = settings.benchmark
    try:
        settings.benchmark = True
        assert retrograd.backends.cudnn.benchmark is True
    finally:
        settings.benchmark = before
