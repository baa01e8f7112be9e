"""``utils.flop_counter`` and ``utils.module_tracker``: what is computed, counted by modules and operators."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from both_engines import differential, raises, warned

CALLS = """
r(3, 4) @ r(4, 5) | r(2, 3, 4) @ r(2, 4, 5) | r(2, 3, 4) @ r(4, 5) | r(3, 4) @ r(4) | r(3, 4).mm(r(4, 5)).tanh()
F.linear(r(2, 3, 4), r(5, 4), r(5)) | F.conv1d(r(2, 3, 9), r(4, 3, 2), r(4), stride=2) | F.conv2d(r(1, 2, 5, 5), r(3, 2, 3, 3))
F.conv_transpose2d(r(2, 4, 5, 5), r(4, 3, 3, 3), stride=2) | torch.baddbmm(r(2, 3, 5), r(2, 3, 4), r(2, 4, 5))
torch.nn.MultiheadAttention(4, 2)(r(3, 2, 4), r(3, 2, 4), r(3, 2, 4))[0] | torch.einsum('bij,bkj->bik', r(2, 3, 4), r(2, 5, 4))
torch.nn.TransformerEncoderLayer(8, 2, 16)(r(2, 5, 8)) | F.conv3d(r(1, 2, 4, 4, 4), r(3, 2, 2, 2, 2)) | r(4) * r(4)
torch.autograd.grad((r(3, 4) @ w).tanh().sum(), w, create_graph=True)[0]
"""  # noqa: E501


def counter(engine: Any) -> Any:
    """The module of an engine."""
    return importlib.import_module(f"{engine.__name__}.utils.flop_counter")


def counted(counts: Any) -> list[Any]:
    """Counts by names, sorted, whatever order they were made in."""
    return sorted((module, sorted((str(op), n) for op, n in of.items())) for module, of in counts.items())


@differential
@pytest.mark.filterwarnings("ignore")
def test_forward_and_backward_are_counted_by_operator(torch: Any) -> Any:
    """Products, convolutions and what backward computes for them; nothing else."""

    def r(*sizes: int) -> Any:
        return torch.ones(sizes, requires_grad=True)

    found = []
    for text in CALLS.strip().replace("\n", " | ").split(" | "):
        with counter(torch).FlopCounterMode(display=False) as count:
            eval(text, {"torch": torch, "F": torch.nn.functional, "r": r, "w": r(4, 5)}).sum().backward()
        found.append([text, counted(count.get_flop_counts()), count.get_total_flops()])
    return found


@differential
def test_counts_belong_to_the_modules_at_work(torch: Any) -> Any:
    """Modules by their path; in backward one whose operands require no gradient works until the end of the run."""
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Sequential(nn.Linear(16, 5), nn.ReLU()))
    count = counter(torch).FlopCounterMode(display=False, depth=3)
    for _ in range(2):  # each time from the beginning
        with count:
            model(torch.ones(2, 1, 4, 4)).sum().backward()
    return counted(count.get_flop_counts()), count.get_total_flops(), len(count.mod_tracker.parents)


@differential
def test_modules_at_work_while_hooks_run(torch: Any) -> Any:
    """``ModuleTracker`` in forward, and where gradients arrive."""
    tracker, seen = importlib.import_module(f"{torch.__name__}.utils.module_tracker").ModuleTracker(), []

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            y = self.first(x)
            y.register_hook(lambda g: seen.append([sorted(tracker.parents), tracker.is_bw]))
            seen.append([sorted(tracker.parents), tracker.is_bw])
            return self.last(y)

    x = torch.ones(1, 2, requires_grad=True)
    with tracker:
        Block()(x).sum().backward()
    return seen, sorted(tracker.parents), tracker.is_bw


@differential
def test_formulas_of_the_program(torch: Any) -> Any:
    """Further operators by shapes or by values; twice the same and what is no operator are refused."""
    module = counter(torch)

    def by_values(a: Any, b: Any, out_val: Any = None) -> int:
        return int(a.sum()) + out_val.numel()

    by_values._get_raw = True  # type: ignore[attr-defined]
    mapping = {torch.ops.aten.mul: lambda a, b, out_shape: a[0] + out_shape[0], torch.ops.aten.add: by_values}
    with module.FlopCounterMode(display=False, custom_mapping=mapping) as count:
        _ = torch.ones(3) * torch.ones(3) + torch.ones(3)
    register = module.register_flop_formula
    return [counted(count.get_flop_counts()), raises("expected each target to be OpOverloadPacket", register(3), len),
            raises("duplicate registrations for aten.mm", register(torch.ops.aten.mm), len),
            warned("mods argument is not needed anymore", module.FlopCounterMode, [])[0]]  # fmt: skip


def test_the_table() -> None:
    """As PyTorch prints it with the package tabulate: one unit, and all of it only where no module has it all."""
    import retrograd as rg
    from retrograd.utils.flop_counter import FlopCounterMode, convert_num_with_suffix, get_suffix_str

    with FlopCounterMode(display=False) as count:
        rg.nn.Sequential(rg.nn.Linear(40, 40))(rg.ones(3, 40)).sum().backward()
    alone = count.get_table()
    with FlopCounterMode(display=False) as count:
        rg.nn.Sequential(rg.nn.Linear(40, 40))(rg.ones(3, 40))
        _ = rg.ones(400, 400) @ rg.ones(400, 400)
    assert alone == (
        "Module           FLOP    % Total\n------------  -------  ---------\n"
        "Sequential    19.200K    100.00%\n- aten.addmm   9.600K     50.00%\n- aten.mm      9.600K     50.00%\n"
        "Sequential.0  19.200K    100.00%\n- aten.addmm   9.600K     50.00%\n- aten.mm      9.600K     50.00%"
    )
    assert count.get_table(0) == (
        "Module            FLOP    % Total\n------------  --------  ---------\n"
        "Global        128.010M    100.00%\n- aten.addmm    0.010M      0.01%\n- aten.mm     128.000M     99.99%"
    )
    sizes = (5, 1234, 12345, 1234567, 99999999, 10**17)
    assert [convert_num_with_suffix(n, get_suffix_str(n)) for n in sizes] == [
        "5.000", "1234.000", "12.345K", "1234.567K", "100.000M", "100000.000T",
    ]  # fmt: skip


def test_counts_where_pytorch_has_none_or_other_ones() -> None:
    """Attention in one operator is counted, and of a convolution by groups no product of two groups."""
    import retrograd as rg
    from retrograd.utils.flop_counter import FlopCounterMode

    q, k = (rg.ones(2, 4, n, 8, requires_grad=True) for n in (5, 7))
    with FlopCounterMode(display=False) as count:
        rg.nn.functional.scaled_dot_product_attention(q, k, k).sum().backward()
    one = 2 * 2 * 4 * 5 * 7 * 8  # a product of two of the matrices
    assert [n / one for n in count.get_flop_counts()["Global"].values()] == [2, 5]
    with FlopCounterMode(display=False) as count:
        rg.nn.functional.conv2d(rg.ones(1, 4, 5, 5, requires_grad=True), rg.ones(4, 2, 3, 3, requires_grad=True),
                                groups=2).sum().backward()  # fmt: skip
    forward, backward = count.get_flop_counts()["Global"].values()
    assert (forward, backward) == (2 * 9 * 4 * 2 * 9, 2 * forward)
