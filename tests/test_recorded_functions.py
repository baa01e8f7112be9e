"""Every function that PyTorch lets others override: by which name its calls are recorded, or why they are not."""

from __future__ import annotations

import re
import warnings
from collections import defaultdict
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch")

from op_runs import flat  # noqa: E402
from op_samples import all_samples, function_of, tensors_for  # noqa: E402

from retrograd.engine.table.public import _SPELLINGS  # noqa: E402
from retrograd.inspect.operators import canonical, traits_of  # noqa: E402
from retrograd.inspect.process.recorder import recording  # noqa: E402
from retrograd.inspect.sources.torch_.calls.rules import FACT, judge  # noqa: E402

WITHOUT_TRAITS = {
    "decompositions and functions of matrices, in whose result every entry depends on all others": """
        cholesky cholesky_inverse cholesky_solve cond corrcoef cov eigvals eigvalsh geqrf householder_product
        inverse ldl_factor ldl_solve lobpcg lstsq lu lu_factor lu_solve lu_unpack ormqr pca_lowrank pinverse qr solve
        solve_triangular svd_lowrank svdvals tensorinv tensorsolve triangular_solve vander""",
    "whole layers, of which no trait holds": """
        glu grid_sampler gru gru_cell lp_pool1d lp_pool2d lp_pool3d lstm lstm_cell multi_head_attention_forward prelu
        rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell scaled_dot_product_attention pdist
        miopen_convolution_add_relu miopen_convolution_relu miopen_convolution_transpose miopen_depthwise_convolution
        miopen_rnn fake_quantize_per_channel_affine moving_avg_obs_fake_quant""",
    "parts of layers that PyTorch calls for itself": """
        batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats
        batch_norm_gather_stats_with_counts batch_norm_stats batch_norm_update_stats array_wrap module_load""",
    "whole numbers in place of real ones, without gradients": """
        choose_qparams_optimized fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation
        fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight
        fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix int_repr q_per_channel_scales
        q_per_channel_zero_points quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic
        quantized_batch_norm quantized_gru_cell quantized_lstm_cell quantized_max_pool1d quantized_max_pool2d
        quantized_max_pool3d quantized_rnn_relu_cell quantized_rnn_tanh_cell histogram histogramdd""",
    "how sparse and nested tensors are kept": """
        ccol_indices ccol_indices_copy coalesce coalesced col_indices col_indices_copy crow_indices crow_indices_copy
        hspmm indices_copy nested_tensor_size nested_tensor_storage_offsets nested_tensor_strides row_indices
        row_indices_copy sparse_mask_projection sparse_resize sparse_resize_and_clear sspaddmm values_copy""",
    "sizes that are not known yet": "sym_sqrt sym_sum",
    "no operators: hooks, switches, and derivatives": """
        grad register_hook register_post_accumulate_grad_hook requires_grad autocast""",
}
"""Operators of which the table says nothing but their name."""


COMPOSED = ("masked", "signal")
"""Namespaces of functions that only call others, of which there are events."""


class Function(NamedTuple):
    """One function that can be overridden."""

    name: str
    function: Any


def functions() -> list[Function]:
    """All of them, attributes by their own names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spaces = torch.overrides.get_overridable_functions().values()
    found = []
    for function in [one for space in spaces for one in space]:
        name = getattr(function, "__name__", "")
        if name in ("__get__", "__set__", "__delete__"):
            name = getattr(function.__self__, "__name__", "")
        found.append(Function(name, function))
    return found


def test_each_function_has_traits_or_a_reason() -> None:
    """What is recorded of a call says what it does, or it is listed here why there is nothing to say."""
    listed = set(" ".join(WITHOUT_TRAITS.values()).split())
    recorded = {rule.op for one in functions() if (rule := judge(one.function)).kind != "ignored"}

    assert {op for op in recorded if not traits_of(op)} ^ listed == set()


def bits(t: Any) -> bytes:
    """The memory of a tensor."""
    return bytes(t.detach().contiguous().numpy().tobytes())


def test_what_is_not_recorded_carries_no_values() -> None:
    """Calls without an event give no tensor but the one they were asked of, and leave its values as they were."""
    passed, told = 0, set()
    for name, function in functions():
        if judge(function) is not FACT:
            continue
        t = torch.arange(6.0).reshape(2, 3).requires_grad_()
        before, version = bits(t), t._version
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = function(t)
        except Exception:
            continue
        passed += 1
        if any(isinstance(one, torch.Tensor) and one is not t for one in flat(result)):
            told.add(name)
        assert (bits(t), t._version) == (before, version), name

    assert told <= {"_base", "_grad", "_hash"}
    assert passed > 50


def test_aliases_have_one_name() -> None:
    """Functions that PyTorch documents as aliases, and those that our engine has as such, are one operator."""
    pattern = re.compile(r"[Aa]lias (?:of|for) :\w+:`~?([\w.]+?)(?:\(\))?`")
    spaces = {"": torch, "Tensor": torch.Tensor, "nn.functional": torch.nn.functional}
    spaces |= {name: getattr(torch, name) for name in ("special", "linalg", "fft")}
    aliases = dict(_SPELLINGS)
    for space, holder in spaces.items():
        for name in dir(holder):
            text = getattr(getattr(holder, name, None), "__doc__", None)
            found = pattern.search(text) if isinstance(text, str) and not name.startswith("_") else None
            if found is not None and callable(getattr(holder, name)) and judge(getattr(holder, name)) is not FACT:
                aliases[f"{space}.{name}"] = found[1]
    for noise in ("linalg.matrix_rank", "linalg.pinv"):  # arguments of theirs have aliases
        aliases.pop(noise, None)

    assert len(aliases) > 60
    assert {alias: name for alias, name in aliases.items() if canonical(alias) != canonical(name)} == {}


def samples() -> dict[str, Any]:
    """One sample for each public function that is no composition of others and asks for more than a fact."""
    found = {one.name: one for one in all_samples() if one.call is None and one.name.partition(".")[0] not in COMPOSED}
    return {name: one for name, one in found.items() if judge(function_of(torch, one)) is not FACT}


def test_calls_are_recorded_by_one_name() -> None:
    """Each function that is called with tensors gives an event of its operator's name with the tensors it was given."""
    expected = []
    with warnings.catch_warnings(), recording(level="full") as recorded:
        warnings.simplefilter("ignore")
        for place, (name, sample) in enumerate(samples().items()):
            args, kwargs = tensors_for(torch, sample.args, []), tensors_for(torch, sample.kwargs, [])
            given = [one for one in flat([list(args), list(kwargs.values())]) if isinstance(one, torch.Tensor)]
            torch.empty(place, 7, 7, 7, device="meta")  # where the sample's events begin
            result = function_of(torch, sample)(*args, **kwargs)
            if given or any(isinstance(one, torch.Tensor) for one in flat(result)):
                expected.append((place, name, len(given)))

    calls: dict[int, list[tuple[str, int]]] = defaultdict(list)
    place = 0
    for event in recorded.events:
        if event.kind in ("operation", "inplace", "cut"):
            shapes = [recorded.tensors[one].shape for one in event.data["outputs"]]
            if event.op == "empty" and shapes[0][1:] == (7, 7, 7):
                place = shapes[0][0]
            calls[place].append((event.op, len(event.data["inputs"])))
    wrong = {
        name: calls[place]
        for place, name, count in expected
        if not any(op == canonical(name) and inputs >= count for op, inputs in calls[place])
    }
    assert len(expected) > 400
    assert wrong == {}


def test_functions_of_newer_versions_are_recorded() -> None:
    """A function that nobody knows is an operator of its own name; tensors are found in whatever it takes and gives."""

    class Pair(NamedTuple):
        low: Any
        high: dict[str, Any]

    def _brand_new(parts: dict[str, Any], pair: Pair) -> Pair:
        if torch.overrides.has_torch_function((parts["a"],)):
            return torch.overrides.handle_torch_function(_brand_new, (parts["a"],), parts, pair)
        return Pair(parts["a"] * 2, {"deep": [pair.low + 1, (pair.high["x"],)]})

    x, y = torch.ones(2, requires_grad=True), torch.ones(3)
    with recording(level="full") as recorded:
        _brand_new({"a": x}, Pair(y, {"x": x}))

    event = next(event for event in recorded.events if event.op == "brand_new")
    assert event.data["inputs"] == [0, 1, 0]
    assert len(event.data["outputs"]) == 3


class Doubled(torch.autograd.Function):
    """Takes a derivative of its own in backward."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        """Keep the input."""
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        """Compute and differentiate."""
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            copy = x.detach().requires_grad_()
            return g * torch.autograd.grad(copy.cosh().sum(), copy)[0]


def closure_of(optimizer: Any, w: Any) -> Any:
    """What an optimizer calls in its step."""

    def closure() -> Any:
        optimizer.zero_grad()
        loss = w.sinh().sum()
        loss.backward()
        return loss

    return closure


def _written(w: Any, x: Any) -> None:
    with torch.no_grad():
        torch._foreach_add_([w, x], 1.0)
        torch.mul(x, 2.0, out=x.clone())
        x.apply_(lambda entry: entry + 1)
    torch.nn.utils.vector_to_parameters(w.detach() * 3, [w])


OUT_OF_THE_WAY = {
    "a cast by type": (lambda w, x: w.type(torch.float64), [("operation", "to")]),
    "a cast to integers": (lambda w, x: w.type("torch.LongTensor"), [("cut", "to")]),
    "a truth value": (lambda w, x: torch.is_nonzero(w[0]), [("cut", "item")]),
    "a comparison as a whole": (lambda w, x: torch.equal(w, x), [("operation", "equal")]),
    "writes": (
        _written,
        [("inplace", "add"), ("inplace", "add"), ("inplace", "mul"), ("inplace", "apply"), ("leaf", "data")],
    ),
    "in a backward": (lambda w, x: Doubled.apply(w).sum().backward(), [("operation", "cosh")]),
    "in a closure": (
        lambda w, x: (lambda optimizer: optimizer.step(closure_of(optimizer, w)))(torch.optim.LBFGS([w], max_iter=1)),
        [("operation", "sinh"), ("backward", "")],
    ),
    "rows of a loop": (lambda w, x: [row * 2 for row in w], [("operation", "unbind"), ("operation", "mul")]),
}


@pytest.mark.parametrize("name", OUT_OF_THE_WAY)
def test_calls_off_the_beaten_track_are_events(name: str) -> None:
    """Casts by `type`, numbers, writes of all sorts, and calls in backward and in closures are recorded."""
    call, told = OUT_OF_THE_WAY[name]
    w, x = torch.nn.Parameter(torch.ones(3)), torch.ones(3)
    with recording(level="full") as recorded:
        call(w, x)

    found = [(event.kind, event.op) for event in recorded.events]
    assert [one for one in told if found.count(one) < told.count(one)] == []
