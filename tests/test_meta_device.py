"""``device='meta'``: tensors with a shape, a dtype and strides, but without memory (C-38 for custom operators)."""

from __future__ import annotations

import copy
import importlib
import io
import pickle
import resource
from typing import Any

import numpy as np
import pytest
from both_engines import differential, raises

import retrograd


def device_for(torch: Any) -> str:
    """Where operators are called: PyTorch's CPU tells the same shapes, for its own ones it would load for seconds."""
    return "meta" if torch is retrograd else "cpu"


def shape_facts(t: Any) -> Any:
    """The same but for the device."""
    assert t.device.type == ("meta" if isinstance(t, retrograd.Tensor) else "cpu")
    return facts(t)[1:]


def facts(t: Any) -> Any:
    """What there is to compare of a tensor without memory."""
    node = None if t.grad_fn is None else t.grad_fn.name()
    return [t.device.type, tuple(t.shape), str(t.dtype).split(".")[-1], tuple(t.stride()), t.requires_grad, node]


@differential
def test_tensors_are_made(torch: Any) -> Any:
    """By ``device=``, like others, in a block, as the default; those of a block end with it."""
    x, y = torch.ones(2, 3, device="meta"), torch.ones(2, 3)
    made = [
        x, torch.empty((2, 3), dtype=torch.int8, device="meta"), torch.full((2,), 3, device="meta"),
        torch.tensor([1.0, 2.0], device="meta"),
        torch.empty_strided((2, 3), (1, 2), device="meta"), torch.ones(2, device="meta", requires_grad=True),
        torch.zeros_like(y.t(), device="meta"), x.new_zeros(3),
        y.new_ones(3, device="meta"), x.new_tensor([1, 2]), torch.as_tensor([1.0], device="meta"), y.t().to("meta"),
        x.to(torch.float64), x.to(y.dtype),
    ]  # fmt: skip
    with torch.device("meta"):
        made += [torch.zeros(2), torch.tensor([1]), torch.zeros(2, device="cpu"), torch.zeros_like(y)]
        with torch.device("cpu"):
            made.append(torch.zeros(2))
        made.append(torch.zeros(2))
    made.append(torch.zeros(2))
    torch.set_default_device("meta")
    try:
        made.append(torch.ones(2))
        default = torch.get_default_device().type
    finally:
        torch.set_default_device(None)
    return [*map(facts, made), default, torch.get_default_device().type, x.to("meta") is x]


@differential
def test_nothing_can_be_read(torch: Any) -> Any:
    """Numbers, decisions, arrays and copies to the CPU are refused; printing says where the tensor is."""
    x = torch.ones(1, device="meta")
    true = torch.ones(1, dtype=torch.bool, device="meta")
    number, no_data = "Tensor.item() cannot be called on meta tensors", "Cannot copy out of meta tensor; no data!"
    return [
        *[raises(number, ask) for ask in (x.item, x.__bool__, x.__float__, x.__int__)],
        *[raises(no_data, ask) for ask in (x.tolist, x.cpu, lambda: x.to("cpu"), lambda: torch.ones(1).copy_(x))],
        raises("can't convert meta device type tensor to numpy", x.numpy),
        raises("attempted to run this operator with Meta tensors", torch.equal, x, x),
        [type(_refused(torch, ask)) for ask in (lambda: x.nonzero(), lambda: x[true], lambda: torch.unique(x))],
        x.data_ptr(), x.is_meta, x.is_cpu, x.get_device(), x.type(), len(x), x.element_size(), x.nbytes,
        repr(x), repr(torch.zeros((), dtype=torch.int64, device="meta")), repr(torch.nn.Parameter(x)),
        f"{x[0]}", repr(x.detach().requires_grad_().view(1)),
    ]  # fmt: skip


def _refused(torch: Any, call: Any) -> Any:
    try:
        return call()
    except NotImplementedError as error:
        return error


@differential
def test_operators_give_shapes(torch: Any) -> Any:
    """Broadcasting, promotion, products, reductions, views with strides and offsets, joins, indexing."""
    place = device_for(torch)
    x, y = torch.ones(2, 3, device=place), torch.ones(3, device=place, dtype=torch.int64)
    images = torch.ones(2, 3, 8, 8, device=place)
    made = [
        x + y, x * 2, x * torch.tensor(2.0), y / 2, x > 0, x @ x.t(), torch.einsum("ij,kj->ik", x, x), x.sum(0),
        x.mean(), x.t(), x.view(3, 2), x.t().reshape(-1), x[1:], x[:, 1], x[None], x.expand(4, 2, 3),
        torch.cat([x, x]), torch.stack([x, x], 1), x[torch.tensor([0, 1])], x[[0]], torch.where(x > 0, x, 0.0),
        torch.softmax(x, 1), x.norm(), torch.isnan(x).any(), x.t().contiguous(), x.float().double(),
        images.to(memory_format=torch.channels_last), torch.nn.functional.max_pool2d(images, 2),
        torch.linalg.inv(torch.eye(3).to(place)), *torch.topk(y, 2), *x.max(1), *x.split(1),
    ]  # fmt: skip
    x[0] = 2
    x.add_(1).zero_()
    row = x[1:]
    return [*map(shape_facts, made), x._version, row.storage_offset(), row._is_view(), row._base is x, shape_facts(x)]


@differential
def test_layers_give_shapes_and_graphs(torch: Any) -> Any:
    """Also those that make states and masks of their own, draw numbers, or look at the values they are given."""
    place, functional = device_for(torch), torch.nn.functional
    x = torch.ones(2, 3, 4, device=place, requires_grad=True)
    numbers, table = torch.ones(2, 3, device=place, dtype=torch.int64), torch.ones(5, 4, device=place)
    mask, double = torch.ones(3, 3, device=place, dtype=torch.bool), x.double()
    made = [
        *(kind(4, 2, device=place).double()(double)[0] for kind in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN)),
        torch.nn.LSTMCell(4, 2, device=place)(x[0])[1], torch.nn.GRUCell(4, 2, device=place)(x[0]),
        functional.scaled_dot_product_attention(x, x, x, is_causal=True),
        functional.scaled_dot_product_attention(double, double, double, attn_mask=mask),
        functional.one_hot(numbers, 7), functional.embedding(numbers, table, max_norm=1.0),
        functional.pad(x, (1, 2), "circular"), functional.rrelu(x, training=True), torch.bernoulli(x), torch.poisson(x),
        7 // numbers, numbers // numbers[0], 7 % numbers[0], numbers[0] % 2, numbers[0, 0] // numbers[0],
    ]  # fmt: skip
    return [*map(shape_facts, made)]


def test_devices_do_not_meet() -> None:
    """Operands have memory, or none of them has; a number that is a tensor may come along."""
    x, y = retrograd.ones(2, device="meta"), retrograd.ones(2)
    layer = retrograd.nn.Linear(2, 3, device="meta")
    for call in (lambda: x + y, lambda: y + x, lambda: y.add_(x), lambda: layer(retrograd.ones(4, 2))):
        with pytest.raises(RuntimeError, match="is not on the expected device"):
            call()
    for parameter, value in ((layer.weight, retrograd.ones(3, 2)), (retrograd.nn.Parameter(y), x)):
        with pytest.raises(RuntimeError, match="incompatible tensor type"):
            parameter.data = value
    number = retrograd.tensor(1.0)
    assert [t.device.type for t in (x + number, number + x, x.copy_(y))] == ["meta"] * 3


def test_random_numbers_are_not_drawn() -> None:
    """Starting values, random tensors and dropout leave the generator where it was."""
    before = retrograd.get_rng_state()
    retrograd.empty(3, 3, device="meta").uniform_().normal_().random_()
    made = [retrograd.rand(3, device="meta"), retrograd.randint(5, (3,), device="meta")]
    made += retrograd.nn.Linear(3, 3, device="meta").parameters()
    made.append(retrograd.nn.functional.dropout(retrograd.ones(3, device="meta")))
    made.append(retrograd.nn.init.xavier_normal_(retrograd.empty(3, 3, device="meta")))
    assert all(t.is_meta and t.shape[-1] == 3 for t in made)
    assert retrograd.get_rng_state().equal(before)


@differential
def test_modules_are_made_moved_and_filled(torch: Any) -> Any:
    """``to_empty``, ``to('meta')`` and ``load_state_dict(assign=True)``; the way back by ``to`` is refused."""
    nn = torch.nn
    with torch.device("meta"):
        net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
        shape = (2, 2) if torch is not retrograd else tuple(net(torch.rand(2, 3, 8, 8)).shape)
    count = sum(p.numel() for p in net.parameters())
    states = {name: (t.device.type, tuple(t.shape)) for name, t in net.state_dict().items()}
    source = nn.Linear(2, 3)
    assigned, copied, emptied = (nn.Linear(2, 3, device="meta") for _ in range(3))
    assigned.load_state_dict(source.state_dict(), assign=True)
    back = raises("Cannot copy out of meta tensor; no data!", copied.to, "cpu")
    weight = emptied.weight
    emptied.to_empty(device="cpu")
    torch.manual_seed(0)
    emptied.reset_parameters()
    moved = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).to("meta")
    refused = raises("Cannot copy out of meta tensor; no data!", source.load_state_dict, copied.state_dict())
    kinds = [(isinstance(p, nn.Parameter), p.requires_grad, p.device.type) for p in (assigned.weight, emptied.weight)]
    return [
        shape, count, states, back, refused, kinds, emptied.weight, emptied.weight is weight, weight.device.type,
        [t.device.type for t in moved.state_dict().values()], assigned.weight.equal(source.weight),
        [isinstance(p, nn.Parameter) for p in moved.parameters()],
    ]  # fmt: skip


@differential
def test_values_loaded_without_assign_are_lost(torch: Any) -> Any:
    """Copying into parameters without memory does nothing, which a warning says."""
    layer, source = torch.nn.Linear(2, 3, device="meta"), torch.nn.Linear(2, 3)
    with pytest.warns(UserWarning, match="which is a no-op"):
        layer.load_state_dict(source.state_dict())
    return layer.weight.device.type


@differential
def test_training_steps_give_shapes(torch: Any) -> Any:
    """Graphs, gradients of first and second order, ``torch.func`` and optimizers work on shapes."""
    place = device_for(torch)
    func = importlib.import_module(f"{torch.__name__}.func")
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).to(place)
    x = torch.ones(5, 3, device=place, requires_grad=True)
    steps = [torch.optim.SGD(net.parameters(), 0.1, momentum=0.9), torch.optim.Adam(net.parameters())]
    loss = torch.nn.functional.cross_entropy(net(x), torch.zeros(5, dtype=torch.int64, device=place))
    loss.backward()
    for step in steps:
        step.step()
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    states = [step.state[net[0].weight] for step in steps]
    kept = [states[0]["momentum_buffer"], states[1]["exp_avg"], *[p.grad for p in net.parameters()]]
    norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    twice = func.grad(lambda t: (t**2).sum())(torch.ones(2, device=place))
    return [*map(shape_facts, [loss, x.grad, g, norm, twice, *kept])]


@differential
def test_copies_and_files(torch: Any) -> Any:
    """Deep copies, pickles and saved files keep what there is."""
    x, p = torch.ones(3, 2, device="meta").t(), torch.nn.Parameter(torch.empty(2, device="meta"))
    file = io.BytesIO()
    torch.save([x, p], file)
    file.seek(0)
    found = [copy.deepcopy(x), pickle.loads(pickle.dumps(x)), copy.deepcopy(p), *torch.load(file)]
    return [*map(facts, found), [isinstance(t, torch.nn.Parameter) for t in found]]


@differential
def test_others_of_the_same_dtype_are_made(torch: Any) -> Any:
    """``new_…`` gives shapes, strides and dtypes."""
    x = torch.ones(2, 3, dtype=torch.float64, device="meta")
    made = [
        x.new_empty_strided((2, 2), (1, 2)), x.new_empty_strided((2,), (3,), dtype=torch.int32), x.new_empty(2, 3),
        x.new_full((2,), 1), x.new_zeros((3,), dtype=torch.float32),
    ]  # fmt: skip
    return [facts(t) for t in made]


def test_no_memory_is_used() -> None:
    """A layer of 10**11 parameters, and element-wise results of its size, take no memory to speak of."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with retrograd.device("meta"):
        net = retrograd.nn.Linear(10**5, 10**6)
        table = retrograd.zeros(10**6, 10**6)
    assert sum(p.numel() for p in net.parameters()) == 10**11 + 10**6
    assert (table * 2 + 1).relu_().shape == (10**6, 10**6)
    assert table.t()[5:].stride() == (1, 10**6)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


def test_memory_that_is_not_there_is_never_written() -> None:
    """What lies behind stand-ins is zeros that cannot be written, not even by NumPy."""
    from retrograd.engine.meta.memory import readable

    array = readable((3, 4), np.dtype(np.float32))
    assert not array.any()
    assert not array.flags.writeable
    with pytest.raises(ValueError, match="writeable|WRITEABLE"):
        array.flags.writeable = True


@differential
def test_products_and_sums_of_any_size(torch: Any) -> Any:
    """Shapes of products and sums need neither memory nor time; what does not fit is refused as ever."""
    m = lambda *sizes, **rest: torch.empty(*sizes, device="meta", **rest)  # noqa: E731
    large, weight = m(2**20, 2**20), m(2**17, 2**17, requires_grad=True)
    (m(4, 2**17) @ weight).sum().backward()
    made = [
        large + 1, large @ m(2**20, 3), large.sum(0), large.mean((0, 1), True), weight.grad, large @ large[0],
        torch.nn.Linear(2**16, 2**17, device="meta")(m(3, 2**16)), torch.addmm(m(4), m(2, 3), m(3, 4)),
        torch.bmm(m(5, 2**18, 2**18), m(5, 2**18, 3)), m(2, 3).sum(0, dtype=torch.float64), m(2, 3).sum(()),
        m(2, 3).to(torch.int64).sum(0), m(0, 3).sum(),
    ]  # fmt: skip
    return [
        [[t.shape, t.dtype, t.stride()] for t in made],
        raises("", torch.mm, m(2, 3), m(4, 5)), raises("", torch.addmm, m(3), m(2, 3), m(3, 4)),
        raises("", torch.bmm, m(2, 3, 4), m(3, 4, 5)), raises("out of range", m(2, 3).sum, 5),
    ]  # fmt: skip


def test_sizes_beyond_all_addresses(monkeypatch: Any) -> None:
    """Where the system gives few addresses, tensors of any size are made all the same: nothing reads them."""
    from retrograd.engine.meta import memory

    monkeypatch.setattr(memory, "_nothing", lambda: bytes(2**20))
    monkeypatch.setattr(memory, "_start", lambda: 0)
    t = retrograd.empty(2**20, 2**20, device="meta")
    assert (t.shape, t.stride(), (t @ t).shape) == ((2**20, 2**20), (2**20, 1), (2**20, 2**20))
