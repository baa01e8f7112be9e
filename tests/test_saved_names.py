"""What nodes show of saved values stands under PyTorch's names, also where the rows have names of their own."""

from __future__ import annotations

from typing import Any

import pytest

import retrograd

torch = pytest.importorskip("torch")

CALLS = """
F.interpolate(x, scale_factor=2, mode='bilinear')
F.interpolate(x, scale_factor=(2., 1.5))
F.interpolate(x, (3, 3), mode='bicubic')
F.interpolate(x[0], 3)
F.conv2d(x, w, w[0, :, 0, 0])
F.conv_transpose2d(x, w, stride=2, output_padding=1)
F.grid_sample(x, x.detach().permute(0, 2, 3, 1).expand(1, 4, 4, 2), align_corners=True, padding_mode='border')
F.affine_grid(x[0, :, :2, :3], (2, 1, 2, 2), align_corners=False)
F.unfold(x, 2)
torch.linalg.eigh(s)[0]
torch.linalg.qr(s)[0]
torch.linalg.inv(s)
torch.linalg.cholesky(s)
torch.linalg.lu_factor(s)[0]
torch.aminmax(x)[0]
torch.std_mean(x, 1)[0]
torch.frexp(x)[0]
x.norm(3)
x.norm()
torch.linalg.vector_norm(x, 2)
torch.linalg.norm(x)
torch.linalg.matrix_norm(x)
x.norm(2.0, 1)
F.pairwise_distance(x, x + 1, 1)
F.softmax(x, -1)
F.log_softmax(x, dim=-2)
F.adaptive_avg_pool2d(x, 1)
x.var()
x.var(1)
torch.std_mean(x)[0]
x.narrow(-1, 0, 2)
torch.diff(x)
torch.trapezoid(x)
F.rms_norm(x, (4,))
torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2)).weight
F.hardtanh(x)
F.gelu(x)
x.mean()
x.mean(1)
x.squeeze(0)
x.squeeze((0,))
x.split(3, 2)[1]
x.split([1, 3], 2)[0]
torch.cat([x, x])
torch.block_diag(s, s)
x.as_strided((2, 2), (1, 2), 1)
torch.as_strided_scatter(x, x[0, 0, :2, :2], (2, 2), (1, 2), 1)
x.scatter_add(0, torch.zeros(1, 1, 2, 2, dtype=torch.int64), x)
torch.linalg.cross(s, s + 1)
torch.complex(x, x)
F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)
"""


def shown(engine: Any, text: str) -> dict[str, Any]:
    """The names and, but for tensors, the values that the node of a call shows."""
    made = engine.arange(32.0).sin().reshape(1, 2, 4, 4)
    symmetric = engine.eye(3) * 3 + engine.ones(3, 3)
    names = {
        "torch": engine,
        "F": engine.nn.functional,
        "x": made.requires_grad_(),
        "w": engine.ones(2, 2, 2, 2),
        "s": symmetric.requires_grad_(),
    }
    node = eval(text, names).grad_fn
    values = {name: getattr(node, name) for name in dir(node) if name.startswith("_saved_")}
    return {name: tuple(v.shape) if hasattr(v, "grad_fn") else v for name, v in values.items() if name != "_saved_self"}


@pytest.mark.parametrize("text", CALLS.strip().splitlines())
def test_saved_values_have_the_names_of_pytorch(text: str) -> None:
    """The same attributes with the same values; tensors by shape."""
    ours, theirs = shown(retrograd, text), shown(torch, text)
    assert ours == theirs


KEPT_OR_NOT = """
F.max_pool1d(y[0], 2)
F.max_pool2d(y, 2)
F.avg_pool2d(y, 2)
F.adaptive_avg_pool2d(y, 2)
F.adaptive_max_pool2d(y, 2)
F.fractional_max_pool2d(y, 2, output_size=2)
F.pad(y, (1, 1, 1, 1), mode='reflect')
F.pad(y, (1, 1, 1, 1), mode='replicate')
F.pad(y, (1, 1, 1, 1), mode='circular')
F.interpolate(y, scale_factor=2)
F.nll_loss(y[0, 0], torch.tensor([0, 1, 2, 3]))
torch.gather(y, 0, i)
torch.take(y, i)
torch.masked_select(y, y > 0)
torch.cummax(y, 0)[0]
torch.sort(y)[0]
torch.put(torch.zeros(2), i[0, 0, 0, :1], y[0, 0, 0, :1])
torch.index_add(torch.zeros(1, 1, 4, 4), 0, i[0, 0, 0, :1], y)
torch.index_copy(torch.zeros(1, 1, 4, 4), 0, i[0, 0, 0, :1], y)
torch.index_select(y, 0, i[0, 0, 0, :1])
torch.linalg.qr(y[0, 0])[1]
torch.fft.rfft(y).abs()
torch.complex(y, y).abs()
torch.polar(y, y).abs()
"""


WRITTEN_LATER = """
y * n | n
y * u | u
n * y | n
y / n | n
y * d | d
d * y | d
torch.addcmul(y, n, y) | n
torch.where(m, y, n) | n
torch.where(m, y, n) | m
torch.maximum(y, n) | n
torch.ldexp(y, n) | n
torch.ldexp(y, n) | r
torch.xlogy(y, n) | n
torch.atan2(y, n) | n
torch.atan2(n, y) | n
y + n | n
torch.frexp(y) | r[0]
torch.frexp(y) | r[1]
torch.std_mean(y, 0) | r[0]
torch.std_mean(y, 0) | r[1]
torch.linalg.slogdet(y) | r[0]
torch.linalg.slogdet(y) | r[1]
torch.linalg.slogdet(y) | y
torch.linalg.solve(y, y[0]) | y
torch.linalg.solve(y, z) | z
torch.linalg.solve(y, z[0]) | z
torch.linalg.solve(y, z) | r
torch.linalg.solve(y.detach(), z) | r
torch.pow(y, d) | r
torch.pow(d, y) | d
torch.copysign(d, y) | r
torch.addcdiv(y, d, z.detach()) | n
torch.addcdiv(d, y, d) | d
F.bilinear(y, d.float(), d.float()[None].detach()) | y
torch.lerp(d, d, y.double()) | d
torch.linalg.svd(y) | y
torch.linalg.svd(y) | r[0]
torch.linalg.svdvals(y) | y
torch.linalg.norm(y, 'nuc') | y
torch.linalg.lu(y) | r[0]
torch.linalg.lu(y) | r[1]
torch.linalg.lu_factor(y) | r[0]
torch.linalg.lu_factor(y) | r[1]
F.max_pool2d(y[None], 2, return_indices=True) | r[0]
F.max_pool2d(y[None], 2, return_indices=True) | r[1]
F.max_pool1d(y, 2, return_indices=True) | r[1]
F.adaptive_max_pool2d(y[None], 2, return_indices=True) | r[1]
torch.take_along_dim(y, n, 1) | n
torch.take_along_dim(y, n) | n
torch.masked.sum(y, 1, mask=m[0]) | m
torch.masked.sum(y, 1, mask=m) | m
F.embedding_bag(n, y) | n
F.embedding_bag(n, y, mode='sum') | n
"""


def outcome_after_writing(engine: Any, line: str) -> str:
    """What becomes of a backward when an operand or a result was written to after the call."""
    text, written = line.split(" | ")
    y = (engine.arange(9.0).reshape(3, 3) * 7 % 11 - 4.5).requires_grad_() * 1
    n = engine.tensor([[1, 2, 0], [0, 1, 2], [2, 0, 1]])
    names = {"torch": engine, "F": engine.nn.functional, "y": y, "n": n, "u": n.to(engine.uint8), "m": n > 0}
    names |= {"d": n.double() + 1, "z": (n.float() + 1).requires_grad_()}
    result = names["r"] = eval(text, names)
    with engine.no_grad():
        eval(written, names).zero_()
    outs = [result] if hasattr(result, "grad_fn") else list(result)
    try:
        sum(r.sum() for r in outs if r.requires_grad).backward()
    except RuntimeError as error:
        return "noticed" if "modified by an inplace operation" in str(error) else str(error)
    return "fine"


@pytest.mark.parametrize("line", WRITTEN_LATER.strip().splitlines())
def test_writes_are_noticed_where_pytorch_keeps_what_was_written(line: str) -> None:
    """V-50, V-51: of other dtypes, too, of masks, indices and results; where it keeps nothing, nothing is noticed."""
    assert outcome_after_writing(retrograd, line) == outcome_after_writing(torch, line)


def test_inference_tensors_of_another_dtype_cannot_be_saved() -> None:
    """V-50: also where it is cast before it is kept; sums keep nothing."""
    for engine in (retrograd, torch):
        with engine.inference_mode():
            n = engine.tensor([1, 2])
        x = engine.ones(2, requires_grad=True)
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
            x * n
        assert (x + n).tolist() == [2.0, 3.0]


def outcome_after_a_write(engine: Any, text: str) -> str:
    """What becomes of a backward when the input was written to after the call."""
    x = (engine.arange(16.0).reshape(1, 1, 4, 4) * 7 % 11 - 4.5).requires_grad_()
    y, i = x * 1, engine.zeros(1, 1, 4, 4, dtype=engine.int64)
    result = eval(text, {"torch": engine, "F": engine.nn.functional, "y": y, "i": i})
    with engine.no_grad():
        y.mul_(1.0)
    try:
        result.sum().backward()
    except RuntimeError as error:
        return "noticed" if "modified by an inplace operation" in str(error) else str(error)
    return "fine"


@pytest.mark.parametrize("text", KEPT_OR_NOT.strip().splitlines())
def test_writes_are_noticed_where_pytorch_keeps_the_input(text: str) -> None:
    """Also where the derivative would not need its values; elsewhere nothing is kept."""
    assert outcome_after_a_write(retrograd, text) == outcome_after_a_write(torch, text)
