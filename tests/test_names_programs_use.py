"""Names of ``torch`` that programs use beside the operators: overrides, trees, gradients of convolutions, Muon."""

from __future__ import annotations

import dataclasses
import importlib
import time
from collections import OrderedDict, deque
from typing import Any, NamedTuple

import pytest
from both_engines import assert_agree, differential, raises, warned

import retrograd


def tree_module(engine: Any) -> Any:
    """``utils._pytree`` of an engine."""
    return importlib.import_module(f"{engine.__name__}.utils._pytree")


def data_class() -> Any:
    """A new data class, as registering one is for good."""

    @dataclasses.dataclass
    class Point:
        x: Any
        y: Any = None
        z: Any = dataclasses.field(default=0, init=False)

    return Point


@differential
def test_data_classes_as_trees(torch: Any) -> Any:
    """Fields are leaves by their names; those that hold None are left out, and None again."""
    trees, point = tree_module(torch), data_class()
    trees.register_dataclass(point)
    there = [point(1, [2, 3]), point(4)]
    leaves, spec = trees.tree_flatten(there)
    back = trees.tree_unflatten([leaf * 10 for leaf in leaves], spec)
    paths = [(trees.keystr(path), leaf) for path, leaf in trees.tree_flatten_with_path(there[0])[0]]
    named = [trees.key_get(there, path) for path, _ in trees.tree_flatten_with_path(there)[0]]
    refused = raises("all dataclass fields", trees.register_dataclass, data_class(), field_names=["x"])
    refused += raises("Unexpected fields", trees.register_dataclass, data_class(), field_names=["x", "y", "a"])
    refused += raises("is not a dataclass", trees.register_dataclass, deque)
    return [leaves, back[0].x, back[0].y, back[1].x, back[1].y, paths, named, refused, str(type(there)),
            trees.tree_is_leaf(there[0]), trees.tree_is_leaf(3), trees.tree_is_leaf((1,), lambda t: True)]  # fmt: skip


@differential
def test_constants_as_trees(torch: Any) -> Any:
    """A class of constants has no leaves, and comes back as it was; it must be comparable."""
    trees = tree_module(torch)

    @dataclasses.dataclass(frozen=True)
    class Config:
        name: str

    class Incomparable:
        pass

    trees.register_constant(Config)
    leaves, spec = trees.tree_flatten([Config("a"), 3])
    return [leaves, trees.tree_unflatten([4], spec)[0].name, trees.is_constant_class(Config),
            raises("non-default `__eq__`", trees.register_constant, Incomparable),
            raises("non-default `__hash__`", trees.register_constant, data_class())]  # fmt: skip


class Pair(NamedTuple):
    """A named tuple."""

    a: Any
    b: Any


@differential
def test_shapes_of_trees(torch: Any) -> Any:
    """Shapes are made by hand, shown, written and read; text written by one engine is that of the other."""
    trees = tree_module(torch)
    tree = {"a": (1, [2, OrderedDict(b=3)]), "c": deque([4], 3)}
    spec = trees.tree_structure(tree)
    text = trees.treespec_dumps(spec)
    leaf = trees.treespec_leaf()
    made = trees.treespec_dict(a=trees.treespec_tuple([leaf, leaf]), b=leaf)
    seen = [trees.is_namedtuple(Pair(1, 2)), trees.is_namedtuple(Pair), trees.is_namedtuple_class(tuple),
            trees.is_namedtuple_instance((1,)), trees.is_structseq(time.gmtime()), trees.is_structseq_class(tuple),
            trees.is_structseq_instance(Pair(1, 2))]  # fmt: skip
    return [text, trees.treespec_loads(text) == spec, trees.treespec_pprint(spec), seen,
            made == trees.tree_structure({"a": (1, 2), "b": 3}), trees.arg_tree_leaves(1, [2], a=(3, {"b": 4})),
            trees.map_only(int)(lambda n: n + 1)(3), trees.map_only(int)(lambda n: n + 1)("a"),
            raises("Unknown protocol", trees.treespec_dumps, spec, 7)]  # fmt: skip


@differential
def test_functions_of_a_program_ask_classes(torch: Any) -> Any:
    """A function with a dispatcher asks the classes of what it returns; plain tensors are not asked."""
    overrides = importlib.import_module(f"{torch.__name__}.overrides")

    class Own:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return f"asked of {func.__name__}"

    @overrides.wrap_torch_function(lambda a, b=None: (a, b))
    def together(a: Any, b: Any = None) -> Any:
        """Both."""
        return a * 2

    tested = overrides.get_testing_overrides()
    nowrap, ignored = overrides.get_default_nowrap_functions(), overrides.get_ignored_functions()
    return [together(torch.ones(2)), together(torch.ones(2), Own()), together(Own()), together.__doc__,
            torch.add in tested, tested[torch.sin](3), torch.Tensor.grad.__get__ in nowrap, len(nowrap),
            torch.typename in ignored, torch.add in ignored, torch.is_tensor in ignored]  # fmt: skip


CONVOLUTIONS = [(1, {}), (2, {"stride": (2, 1), "padding": 1}), (3, {"dilation": 2, "padding": (1, 0, 1)}),
                (2, {"groups": 2, "stride": 2})]  # fmt: skip


@pytest.mark.parametrize("case", range(len(CONVOLUTIONS)))
def test_gradients_of_convolutions(case: int) -> None:
    """``nn.grad`` gives those of input and weight from sizes, and they have derivatives."""
    dims, options = CONVOLUTIONS[case]

    def program(torch: Any) -> Any:
        x = torch.arange(2.0 * 4 * 5**dims, dtype=torch.float64).sin().reshape(2, 4, *(5,) * dims).requires_grad_()
        channels = 4 // int(options.get("groups", 1))  # type: ignore[call-overload]
        w = torch.arange(4.0 * channels * 2**dims, dtype=torch.float64).cos().reshape(4, channels, *(2,) * dims)
        w.requires_grad_()
        out = getattr(torch.nn.functional, f"conv{dims}d")(x, w, **options)
        g = out.detach().cos()
        grad = importlib.import_module(f"{torch.__name__}.nn.grad")
        into_x = getattr(grad, f"conv{dims}d_input")(x.shape, w, g, **options)
        into_w = getattr(grad, f"conv{dims}d_weight")(x, w.shape, g, **options)
        again = torch.autograd.grad(into_x.sin().sum() + into_w.sin().sum(), [x, w])
        true = torch.autograd.grad(out, [x, w], g)
        return [
            into_x.detach(),
            into_w.detach(),
            again,
            torch.allclose(into_x, true[0]),
            torch.allclose(into_w, true[1]),
        ]

    assert_agree(program)


@pytest.mark.parametrize("size", [3, 4, 5])
def test_normalisation_across_maps(size: int) -> None:
    """``CrossMapLRN2d`` has PyTorch's values; its gradients are the derivative (PyTorch's are not)."""

    def program(torch: Any) -> Any:
        layer = torch.nn.CrossMapLRN2d(size, alpha=0.5, beta=0.6, k=2)
        x = torch.arange(48.0).sin().reshape(1, 8, 2, 3)
        return layer(x), repr(layer), raises("to be 4D, got 3D", layer, x[0])

    assert_agree(program)
    layer = retrograd.nn.CrossMapLRN2d(size, alpha=0.5)
    x = retrograd.arange(12.0, dtype=retrograd.float64).sin().reshape(1, 6, 1, 2).requires_grad_()
    assert retrograd.autograd.gradcheck(layer, (x,))


@differential
def test_batch_norms_without_running_statistics(torch: Any) -> Any:
    """``func.replace_all_batch_norm_modules_`` takes them from all modules, so that ``vmap`` may call the net."""
    net = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Sequential(torch.nn.BatchNorm2d(3)))
    same = torch.func.replace_all_batch_norm_modules_(net) is net
    x = torch.arange(6.0).reshape(3, 2)
    return same, sorted(net.state_dict()), [m.track_running_stats for m in (net[0], net[1][0])], net[0](x).detach()


@differential
def test_parametrizations_go_to_another_module(torch: Any) -> Any:
    """``transfer_parametrizations_and_params``: steps and originals, also of a parameter that the other one lacks."""
    parametrize = torch.nn.utils.parametrize

    class Double(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x * 2

    given, taken, plain = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2), torch.nn.Module()
    with torch.no_grad():
        given.weight.copy_(torch.arange(4.0).reshape(2, 2))
    parametrize.register_parametrization(given, "weight", Double())
    parametrize.transfer_parametrizations_and_params(given, taken)
    parametrize.transfer_parametrizations_and_params(given, plain, "weight")
    unchanged = parametrize.transfer_parametrizations_and_params(torch.nn.Linear(1, 1), taken) is taken
    shared = taken.parametrizations.weight.original is given.parametrizations.weight.original
    return taken.weight.detach(), plain.weight.detach(), sorted(dict(plain.named_parameters())), unchanged, shared


@pytest.mark.parametrize("options", [{}, {"nesterov": False, "momentum": 0.5}, {"adjust_lr_fn": "match_rms_adamw"}])
def test_muon(options: dict[str, Any]) -> None:
    """Steps agree to the precision of bfloat16, in which PyTorch iterates; settings and state have its names."""
    torch = pytest.importorskip("torch")

    def steps(engine: Any) -> Any:
        wide, tall = (engine.arange(6.0).sin().reshape(s).requires_grad_() for s in ((2, 3), (3, 2)))
        optimizer = engine.optim.Muon([wide, tall], lr=0.1, **options)
        for _ in range(3):
            optimizer.zero_grad()
            (wide @ tall - 1).square().sum().backward()
            optimizer.step()
        state = optimizer.state_dict()
        return [p.detach().numpy() for p in (wide, tall)], repr(optimizer), sorted(state["state"][0])

    (found, text, names), (wanted, their_text, their_names) = steps(retrograd), steps(torch)
    for own, theirs in zip(found, wanted, strict=True):
        assert abs(own - theirs).max() < 0.01
    assert (text, names) == (their_text, their_names)


@differential
def test_muon_refuses(torch: Any) -> Any:
    """Parameters that are no matrices, and settings that make no sense."""
    muon, w = torch.optim.Muon, torch.ones(2, 2, requires_grad=True)
    return [raises("only supports 2D parameters", muon, [torch.ones(3, requires_grad=True)]),
            raises("Learning rate should be >= 0 but is: -1", muon, [w], lr=-1),
            raises("momentum should be >= 0", muon, [w], momentum=-1),
            raises("weight decay should be >= 0", muon, [w], weight_decay=-1),
            raises("function x is not supported", muon, [w], adjust_lr_fn="x")]  # fmt: skip


@differential
def test_generators_of_threads(torch: Any) -> Any:
    """In the thread of the program there is none of its own."""
    return torch.random.thread_safe_generator() is None


@differential
def test_tags_as_text(torch: Any) -> Any:
    """Tags of operators are called by class and name."""
    return [str(torch.Tag.core), repr(torch.Tag.core), f"{torch.Tag.inplace_view}"]


@differential
def test_ranks_without_processes(torch: Any) -> Any:
    """Before a group is begun ranks are what they are; sending asks for a group."""
    distributed = importlib.import_module(f"{torch.__name__}.distributed")
    none, t = distributed.group.WORLD, torch.ones(1)
    missing = "Default process group has not been initialized"
    return [
        none, distributed.get_group_rank(none, 1), distributed.get_global_rank(none, 0),
        distributed.get_node_local_rank(0), raises("LOCAL_RANK is not in the env", distributed.get_node_local_rank),
        raises(missing, distributed.isend, t, 0), raises(missing, distributed.irecv, t, 0),
        raises(missing, distributed.scatter_object_list, [None], [1]),
    ]  # fmt: skip


def test_one_process_scatters_and_sends_nothing() -> None:
    """In a group of one the object comes back as a copy; there is nobody to send to."""
    distributed = retrograd.distributed
    distributed.init_process_group("gloo", rank=0, world_size=1)
    try:
        out: list[Any] = [None]
        given = [[1, 2]]
        distributed.scatter_object_list(out, given)
        assert out == given
        assert out[0] is not given[0]
        assert distributed.get_group_rank(distributed.group.WORLD, 0) == 0
        with pytest.raises(ValueError, match="is not registered"):
            distributed.get_group_rank(None, 0)
        for call in (distributed.isend, distributed.irecv):
            with pytest.raises(RuntimeError, match="no other process"):
                call(retrograd.ones(1), 0)
    finally:
        distributed.destroy_process_group()


@differential
def test_where_classes_are(torch: Any) -> Any:
    """Classes that programs print and pickle by name say that they are where PyTorch has them."""
    mode = importlib.import_module(f"{torch.__name__}.overrides").TorchFunctionMode
    return [c.__module__.partition(".")[2] for c in (torch.Generator, mode)]


@differential
def test_gradients_as_one_tensor(torch: Any) -> Any:
    """Programs for several processes put gradients into one tensor, and take them out of it."""
    utils = importlib.import_module(f"{torch.__name__}._utils")
    parts = [torch.arange(6.0).view(2, 3).t(), torch.ones(2), torch.zeros(3, dtype=torch.float32)]
    flat = utils._flatten_dense_tensors(parts)
    windows = utils._unflatten_dense_tensors(flat * 1, parts)
    groups = [[tuple(t.shape) for t in group] for group in utils._take_tensors([*parts, torch.ones(1).long()], 32)]
    return flat, windows, groups


@differential
def test_what_is_asked_of_autocast(torch: Any) -> Any:
    """It is off; older questions are answered with a warning that says the newer ones."""
    asked = ("is_autocast_cpu_enabled", "get_autocast_gpu_dtype", "is_autocast_xla_enabled", "get_autocast_ipu_dtype")
    older = [warned("is deprecated. Please use torch.", getattr(torch, name)) for name in asked]
    torch.set_autocast_enabled("cpu", False)
    torch.set_autocast_dtype("cpu", torch.float16)
    depths = torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()
    said = warned("torch.set_autocast_cpu_enabled(enabled) is deprecated", torch.set_autocast_cpu_enabled, False)
    found = older, depths, said, torch.get_autocast_dtype("cpu"), torch.is_autocast_enabled("cuda")
    with pytest.raises(RuntimeError, match="device type at start of device string"):
        torch.get_autocast_dtype("nowhere")
    return found


@differential
def test_where_functions_are(torch: Any) -> Any:
    """``torch.functional`` and ``torch._tensor`` have what older programs import from there."""
    functional = importlib.import_module(f"{torch.__name__}.functional")
    tensor = importlib.import_module(f"{torch.__name__}._tensor").Tensor is torch.Tensor
    hooked = torch.ones(1, requires_grad=True)
    hooked.register_hook(print).remove()
    return sorted(functional.__all__), functional.einsum is torch.einsum, tensor, repr(hooked._backward_hooks)


@differential
def test_the_older_functional_call(torch: Any) -> Any:
    """It computes what ``torch.func.functional_call`` does, and warns that its name will go."""
    stateless, layer = torch.nn.utils.stateless, torch.nn.Linear(2, 2)
    given = {"weight": torch.eye(2), "bias": torch.zeros(2)}
    called = warned("is deprecated as of PyTorch 2.0", stateless.functional_call, layer, given, torch.ones(1, 2))
    with stateless._reparametrize_module(layer, given):
        within = layer(torch.ones(1, 2))
    return called, within, layer.weight.requires_grad


def test_nothing_to_reset() -> None:
    """Programs that reset the compiler, or set it up, run as they are (importing PyTorch's takes seconds)."""
    dynamo = importlib.import_module("retrograd._dynamo")
    dynamo.config.suppress_errors = True
    assert retrograd._dynamo.disable(lambda: 3)() == 3
    assert dynamo.reset() is None
    assert not dynamo.is_compiling()


def test_sends_and_receives_in_a_list() -> None:
    """They are described and checked as in PyTorch; in a group of one process there is nobody to send to."""
    distributed = retrograd.distributed
    t = retrograd.ones(1)
    with pytest.raises(ValueError, match="has not been initialized"):
        distributed.P2POp(distributed.isend, t, 0)
    distributed.init_process_group("gloo", rank=0, world_size=1)
    try:
        one = distributed.P2POp(distributed.irecv, t, group_peer=0)
        assert (one.op, one.peer, one.group_peer, one.tag) == (distributed.irecv, 0, 0, 0)
        for refused, phrase in (
            ((print, t, 0), "Invalid ``op``"),
            ((distributed.isend, t), "Must specify global_rank"),
        ):
            with pytest.raises(ValueError, match=phrase):
                distributed.P2POp(*refused)
        with pytest.raises(ValueError, match="Invalid ``p2p_op_list``"):
            distributed.batch_isend_irecv([3])
        with pytest.raises(RuntimeError, match="no other process"):
            distributed.batch_isend_irecv([one])
    finally:
        distributed.destroy_process_group()
