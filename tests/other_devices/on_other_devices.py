"""A program that records training steps on ``python_device``, and prints as JSON what was recorded of each."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import python_device
import torch

from retrograd.inspect.breakpoints import breakpoint as breakpoint_
from retrograd.inspect.diagnosis import diagnose
from retrograd.inspect.process.recorder import recording
from retrograd.inspect.recording.events import Recording
from retrograd.inspect.recording.unseen import launched_on

COLUMNS = ("grad_norm", "grad_min", "grad_max", "grad_mean", "zero_share", "nan_count", "out_norm")
Clear = Callable[[Any, Any], object]


def grads(net: Any) -> list[Any]:
    """The gradients that there are."""
    return [p.grad for p in net.parameters() if p.grad is not None]


CLEARED: dict[str, Clear] = {
    "optimizer": lambda net, optimizer: optimizer.zero_grad(set_to_none=False),
    "module": lambda net, optimizer: net.zero_grad(set_to_none=False),
    "zero_": lambda net, optimizer: [grad.zero_() for grad in grads(net)],
    "data": lambda net, optimizer: [grad.data.zero_() for grad in grads(net)],
    "foreach": lambda net, optimizer: grads(net) and torch._foreach_zero_(grads(net)),
    "times zero": lambda net, optimizer: [grad.mul_(0) for grad in grads(net)],
    "copied": lambda net, optimizer: [grad.copy_(torch.zeros_like(grad)) for grad in grads(net)],
}
PILED_UP: dict[str, Clear] = {
    "nothing": lambda net, optimizer: None,
}


def made(device: str) -> tuple[Any, Any, Any, Any]:
    """Data, a network and its optimizer."""
    torch.manual_seed(0)
    x, y, net = torch.rand(16, 4).to(device), torch.rand(16, 1).to(device), torch.nn.Linear(4, 1).to(device)
    return x, y, net, torch.optim.SGD(net.parameters(), lr=0.1)


def train(device: str, clear: Clear) -> list[float]:
    """A few steps."""
    x, y, net, optimizer = made(device)
    losses = []
    for _ in range(4):
        clear(net, optimizer)
        loss = (net(x).relu() - y).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [loss.item() for loss in losses]


def singular(device: str) -> None:
    """A root of exactly nothing."""
    x, _, net, _ = made(device)
    loss = torch.sqrt((net(x) - net(x)).pow(2).sum())
    loss.backward()


def kinds(run: Callable[[], object]) -> list[Any]:
    """What is found in a program."""
    with recording(level="full") as recorded:
        run()
    return [(one.kind, one.message, one.line) for one in diagnose(recorded)]


def figures(recorded: Recording) -> dict[str, Any]:
    """What was recorded of gradients and results."""
    graphs = recorded.graphs
    columns = {name: [value for graph in graphs for value in graph.measures[name]] for name in COLUMNS}
    calls = [event for event in recorded.events if event.op in ("relu", "sub", "mean")]
    told = [[event.data["range"][0], event.data["checksum"][0], event.data.get("flat_share")] for event in calls]
    return {"columns": columns, "results": told}


def read_backs(layers: int) -> list[int]:
    """How often two passes through so many layers read from the device, forward and backward."""
    net, x, found = torch.nn.Sequential(*[torch.nn.Linear(4, 4) for _ in range(layers)]).to("py"), made("py")[0], []
    with recording(level="full"):
        for _ in range(2):
            begin = python_device.copies()
            loss = net(x).square().sum()
            between = python_device.copies()
            loss.backward()
            found += [between - begin, python_device.copies() - between]
    return found


def stops(device: str) -> list[str]:
    """Where a breakpoint on gradients that are not finite stops."""
    x, _, net, _ = made(device)
    with breakpoint_("nonfinite", action="report") as point:
        torch.sqrt((net(x) - net(x)).pow(2).sum()).backward()
    return point.stops


def main() -> None:
    """Print everything."""
    found: dict[str, Any] = {"kinds": {}, "figures": {}, "losses": {}, "launched": {}}
    for name, clear in (CLEARED | PILED_UP).items():
        found["kinds"][name] = kinds(lambda clear=clear: train("py", clear))  # type: ignore[misc]
    for device in ("cpu", "py"):
        found["kinds"][f"singular on {device}"] = kinds(lambda device=device: singular(device))  # type: ignore[misc]
        with recording(level="full", all_figures=True) as recorded:
            watched = train(device, CLEARED["optimizer"])
        found["figures"][device] = figures(recorded)
        found["launched"][device] = launched_on(recorded)
        found["losses"][device] = [train(device, CLEARED["optimizer"]), watched]
    found["stops"] = [stops("cpu"), stops("py")]
    found["read_backs"] = [read_backs(1), read_backs(12)]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
