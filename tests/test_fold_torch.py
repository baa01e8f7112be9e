"""Real PyTorch networks open with few boxes, and everything in them can be opened again."""

from __future__ import annotations

from typing import Any

import pytest

import retrograd as rg
from retrograd.inspect.fold import View, everything, first_opening, fold, view

torch: Any = pytest.importorskip("torch")
nn = torch.nn


class Block(nn.Module):  # type: ignore[misc, name-defined]
    """A bottleneck with a short way around it."""

    def __init__(self, wide: int, width: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(wide, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.down = (
            None if wide == 4 * width else nn.Sequential(nn.Conv2d(wide, 4 * width, 1), nn.BatchNorm2d(4 * width))
        )
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Any) -> Any:
        """Three convolutions and the short way."""
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn3(self.conv3(self.relu(self.bn2(self.conv2(y)))))
        y += x if self.down is None else self.down(x)
        return self.relu(y)


def residual_net() -> Any:
    """Fifty layers in four stages."""
    stages: list[Any] = [nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU()]
    wide = 8
    for width, blocks in ((4, 3), (8, 4), (12, 6), (16, 3)):
        stages.append(nn.Sequential(*[Block(wide if not number else 4 * width, width) for number in range(blocks)]))
        wide = 4 * width
    return nn.Sequential(*stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(wide, 5))


def opened(model: Any, x: Any) -> tuple[View, View]:
    """What is seen of a training step at first, and when everything is open."""
    with rg.debug() as trace:
        model(x).pow(2).mean().backward()
    folded = fold(trace.graph)
    first, whole = first_opening(folded), everything(folded)
    return view(folded, first.opened, first.unrolled), view(folded, whole.opened, whole.unrolled)


def test_transformer_of_twelve_layers_opens_with_twenty_boxes() -> None:
    """One layer stands for twelve; opened, every operator of every layer is there."""
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)
    # Something to learn before the first layer: else that has less to do than the others.
    first, whole = opened(nn.Sequential(nn.Linear(8, 16), encoder), torch.randn(2, 5, 8))

    assert len(first.folded.original) > 500
    assert len(first.boxes) <= 20
    assert [frame.repeats for frame in first.frames if frame.repeats > 1] == [12]
    assert len(whole.boxes) == len(whole.folded) > 12 * 15


def test_residual_net_of_fifty_layers_opens_with_twentyfive_boxes() -> None:
    """Equal blocks of each stage are one; opened, all are there."""
    first, whole = opened(residual_net(), torch.randn(2, 3, 8, 8))

    assert len(first.folded.original) > 300
    assert len(first.boxes) <= 25
    repeats = [scope.repeats for scope in first.folded.scopes if scope.kind == "repeat"]
    assert sorted(repeats) == [2, 2, 3, 5]
    assert len(whole.boxes) == len(whole.folded)
