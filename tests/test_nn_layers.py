"""Layers of ``nn``: what they print, keep, compute and pass back, held against PyTorch, one line each."""

from __future__ import annotations

import math
import warnings
from collections import OrderedDict
from typing import Any

import pytest
from both_engines import assert_agree, assert_same, differential, plain, raises

import retrograd

LAYERS = """
nn.Threshold(0.1,2) | 2,3
nn.ReLU(True) | 2,3
nn.RReLU().eval() | 2,3
nn.Hardtanh(-.5,.5) | 2,3
nn.ReLU6() | 2,3
nn.ELU(2.) | 2,3
nn.CELU() | 2,3
nn.SELU() | 2,3
nn.GLU() | 2,4
nn.GELU('tanh') | 2,3
nn.GELU() | 2,3
nn.Hardshrink() | 2,3
nn.Softshrink() | 2,3
nn.LeakyReLU(.2) | 2,3
nn.LogSigmoid() | 2,3
nn.Softplus(2.) | 2,3
nn.Softsign() | 2,3
nn.Tanhshrink() | 2,3
nn.PReLU(3) | 2,3
nn.Softmax(1) | 2,3
nn.Softmax() | 2,3
nn.LogSoftmax(dim=-1) | 2,3
nn.Softmin(0) | 2,3
nn.Softmax2d() | 2,3,2,2
nn.SiLU() | 2,3
nn.Mish() | 2,3
nn.Hardswish() | 2,3
nn.Hardsigmoid() | 2,3
nn.Sigmoid() | 2,3
nn.Tanh() | 2,3
nn.Conv1d(2,4,3) | 1,2,6
nn.Conv1d(2,4,3,padding_mode='circular',padding=1) | 1,2,6
nn.Conv1d(2,4,3,padding_mode='replicate',padding='same') | 2,6
nn.Conv2d(2,4,(3,2),stride=2,padding=1,dilation=2,groups=2,bias=False,padding_mode='reflect') | 1,2,6,6
nn.Conv2d(1,1,3,padding='same') | 1,1,4,4
nn.Conv2d(1,2,3,padding='valid') | 1,4,4
nn.Conv3d(1,1,2) | 1,1,3,3,3
nn.ConvTranspose1d(2,2,3,2) | 1,2,4
nn.ConvTranspose2d(2,4,3,2,1,1,groups=2) | 1,2,3,3
nn.ConvTranspose3d(1,1,2) | 1,1,2,2,2
nn.MaxPool1d(2) | 1,2,6
nn.MaxPool2d(2,return_indices=True) | 1,2,4,4
nn.MaxPool2d((2,1),stride=1,padding=(1,0)) | 1,2,4,4
nn.MaxPool3d(2) | 1,1,2,2,2
nn.AvgPool1d(2) | 1,2,6
nn.AvgPool2d(3,2,1,count_include_pad=False) | 1,2,4,4
nn.AvgPool3d(2) | 1,1,2,2,2
nn.LPPool1d(2,2) | 1,2,6
nn.LPPool2d(2.,2) | 1,2,4,4
nn.AdaptiveAvgPool1d(2) | 1,2,5
nn.AdaptiveAvgPool2d((1,None)) | 1,2,4,4
nn.AdaptiveAvgPool3d(1) | 1,1,2,2,2
nn.AdaptiveMaxPool1d(2) | 1,2,5
nn.AdaptiveMaxPool2d(2,True) | 1,2,4,4
nn.AdaptiveMaxPool3d(1) | 1,1,2,2,2
nn.BatchNorm1d(3) | 4,3
nn.BatchNorm1d(3,momentum=None) | 4,3,2
nn.BatchNorm1d(3).eval() | 4,3
nn.BatchNorm2d(3,affine=False,track_running_stats=False) | 2,3,2,2
nn.BatchNorm2d(3,track_running_stats=False).eval() | 2,3,2,2
nn.BatchNorm2d(3,bias=False) | 2,3,2,2
nn.BatchNorm3d(2) | 2,2,2,2,2
nn.BatchNorm2d(3) | 2,3
nn.InstanceNorm1d(3) | 2,3,4
nn.InstanceNorm1d(3,affine=True,track_running_stats=True) | 2,3,4
nn.InstanceNorm2d(3) | 3,4,4
nn.InstanceNorm2d(3,affine=True) | 1,2,4,4
nn.InstanceNorm3d(1) | 1,1,2,2,2
nn.GroupNorm(2,4) | 2,4,3
nn.GroupNorm(2,4,affine=False) | 2,4,3
nn.LayerNorm(3) | 2,3
nn.LayerNorm((2,3),bias=False) | 2,3
nn.LayerNorm([3],elementwise_affine=False) | 2,3
nn.RMSNorm(3) | 2,3
nn.LocalResponseNorm(2) | 1,4,3
nn.Dropout(.3).eval() | 2,3
nn.Dropout2d(.3,True).eval() | 2,3,2,2
nn.AlphaDropout().eval() | 2,3
nn.FeatureAlphaDropout().eval() | 2,3
nn.Upsample(scale_factor=2) | 1,1,3
nn.Upsample(5,mode='bilinear') | 1,1,3,3
nn.UpsamplingNearest2d(scale_factor=2) | 1,1,3,3
nn.UpsamplingBilinear2d(size=4) | 1,1,3,3
nn.Fold((3,3),2) | 1,4,4
nn.Unfold(2) | 1,1,3,3
nn.PixelShuffle(2) | 1,4,2,2
nn.PixelUnshuffle(2) | 1,1,4,4
nn.ChannelShuffle(2) | 1,4,2,2
nn.Flatten() | 2,3,2
nn.Flatten(0,1) | 2,3,2
nn.Unflatten(1,(3,2)) | 2,6
nn.Identity(3,x=2) | 2
nn.Linear(3,2) | 4,3
nn.Linear(3,2,bias=False) | 3
nn.Linear(0,2) | 1,0
nn.Linear(3,2) | 4,4
nn.RNNCell(3,2) | 4,3
nn.RNNCell(3,2,nonlinearity='relu') | 3
nn.LSTMCell(3,2,bias=False) | 4,3
nn.GRUCell(3,2) | 4,3
nn.RNN(3,2) | 4,1,3
nn.RNN(3,2,nonlinearity='relu') | 4,1,3
nn.LSTM(3,2,2,bidirectional=True,batch_first=True,bias=False) | 4,2,3
nn.GRU(3,2) | 4,3
nn.GRU(3,2,dropout=.1) | 4,3
nn.ReflectionPad1d(1) | 1,1,4
nn.ReflectionPad2d((1,0,1,0)) | 1,1,4,4
nn.ReplicationPad2d(1) | 1,1,2,2
nn.ReplicationPad3d(1) | 1,1,2,2,2
nn.ZeroPad1d(1) | 1,1,2
nn.ZeroPad2d((1,2,0,1)) | 1,1,2,2
nn.ConstantPad1d(1,2.) | 1,1,2
nn.ConstantPad3d(1,2.) | 1,1,2,2,2
nn.CircularPad2d(1) | 1,1,2,2
nn.Sequential(nn.Linear(3,2),nn.ReLU(),nn.Linear(2,1)) | 2,3
nn.TransformerEncoderLayer(4,2,8).eval() | 3,2,4
nn.TransformerEncoderLayer(4,2,8,dropout=0.,batch_first=True,norm_first=True,activation='gelu') | 3,2,4
nn.TransformerEncoder(nn.TransformerEncoderLayer(4,2,8,0.,batch_first=True),2,nn.LayerNorm(4)) | 3,2,4
nn.Embedding(3,4,padding_idx=-1) | L2,2
nn.Embedding(3,4,max_norm=.5) | L2,2
nn.EmbeddingBag(3,4,mode='sum') | L2,2
nn.EmbeddingBag(3,4,padding_idx=1) | L2,2
"""
"""A layer | the shape of its input; L for numbers of embeddings."""


def values(torch: Any, *shape: int) -> Any:
    """Numbers without a pattern, the same in both engines."""
    return torch.arange(math.prod(shape), dtype=torch.float64).mul(0.7).sin().reshape(shape)


def filled(torch: Any, module: Any) -> Any:
    """The module with known parameters."""
    with torch.no_grad():
        for i, parameter in enumerate(module.parameters()):
            parameter.copy_(values(torch, *parameter.shape) * 0.5 + 0.01 * i)
    return module


def facts(module: Any) -> list[tuple[str, str]]:
    """The public attributes that a module keeps, as text."""
    private = (
        "training",
        "activation",
        "activation_relu_or_gelu",
        "name",
        "transposed",
        "value",
        "min_val",
        "max_val",
        "use_nested_tensor",
    )
    kept = sorted((name, str(value)) for name, value in vars(module).items() if name[0] != "_")
    return [(name, text) for name, text in kept if name not in private]


@pytest.mark.parametrize("line", LAYERS.strip().splitlines())
def test_layers(line: str) -> None:
    """The same text, state, attributes, results, gradients and buffers, or the same refusal."""
    made, shape = line.split(" | ")

    def program(torch: Any) -> Any:
        module = filled(torch, eval(made, {"nn": torch.nn, "torch": torch}).double())
        numbers = torch.tensor([[0, 1], [2, 0]]) if shape[0] == "L" else None
        x = values(torch, *map(int, shape.split(","))).requires_grad_() if numbers is None else numbers
        out = module(x * 1)
        first = out
        while isinstance(first, tuple):
            first = first[0]
        (first * torch.arange(first.numel()).reshape(first.shape)).sum().backward()
        gradients = [(name, p.grad) for name, p in module.named_parameters()]
        seen = [repr(module), list(module.state_dict()), facts(module), dict(module.named_buffers())]
        return [*seen, out, gradients, None if numbers is not None else x.grad]

    assert_agree(program)


def test_projections() -> None:
    """An LSTM whose hidden state is projected; PyTorch warns about its own implementation there."""
    torch = pytest.importorskip("torch")
    results = []
    for engine in (torch, retrograd):
        module = filled(engine, engine.nn.LSTM(3, 4, 2, proj_size=2, bidirectional=True).double())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.append(plain([repr(module), module(values(engine, 4, 2, 3))]))
    assert_same(*results, "")


LOSSES = """
L1Loss() | like
MSELoss() | like
MSELoss(reduction='none') | like
MSELoss(size_average=False) | like
MSELoss(None,False) | like
MSELoss(reduction='foo') | like
SmoothL1Loss(beta=.5) | like
HuberLoss() | like
NLLLoss() | classes
CrossEntropyLoss(torch.tensor([1.,2,3,4]).double(),label_smoothing=.1) | classes
CrossEntropyLoss(ignore_index=3) | classes
CrossEntropyLoss() | positive
BCEWithLogitsLoss(pos_weight=torch.ones(4).double()*2) | positive
BCELoss() | positive
KLDivLoss(reduction='batchmean') | positive
KLDivLoss() | positive
PoissonNLLLoss() | like
SoftMarginLoss() | signs
MultiLabelSoftMarginLoss() | positive
MultiMarginLoss(margin=.5) | classes
HingeEmbeddingLoss() | signs
"""


@pytest.mark.parametrize("line", LOSSES.strip().splitlines())
def test_losses(line: str) -> None:
    """The same text, state, attributes, loss, gradient and warnings, or the same refusal."""
    made, kind = line.split(" | ")

    def program(torch: Any) -> Any:
        y = values(torch, 4, 3).reshape(3, 4)
        targets = {"like": y, "positive": y.abs(), "signs": y.sign(), "classes": torch.tensor([0, 3, 1])}
        module, x = eval(f"torch.nn.{made}", {"torch": torch}), values(torch, 3, 4).requires_grad_()
        out = module(x, targets[kind])
        out.sum().backward()
        return [repr(module), list(module.state_dict()), facts(module), out, x.grad]

    assert_agree(program)


@differential
def test_losses_of_three(torch: Any) -> Any:
    """Losses and distances with other inputs than one and a target."""
    nn, x, y = torch.nn, values(torch, 3, 4), values(torch, 4, 3).reshape(3, 4)
    labels, lengths = torch.tensor([[1, 2], [3, 1]]), (torch.tensor([5, 5]), torch.tensor([2, 2]))
    bilinear, pooled = filled(torch, nn.Bilinear(4, 4, 2).double()), nn.MaxPool2d(2, return_indices=True)
    return [
        nn.TripletMarginLoss()(x, y, y * 2), nn.TripletMarginWithDistanceLoss()(x, y, y * 2),
        nn.CosineEmbeddingLoss()(x, y, torch.tensor([1, -1, 1])), nn.MarginRankingLoss(0.1)(x, y, y.sign()),
        nn.GaussianNLLLoss()(x, y, torch.ones(3, 4)), nn.CosineSimilarity()(x, y), nn.PairwiseDistance()(x, y),
        nn.CTCLoss()(values(torch, 5, 2, 4).log_softmax(2), labels, *lengths), [repr(bilinear), bilinear(x, y)],
        nn.MultiLabelMarginLoss()(x, torch.tensor([[1, 2, -1, 0]] * 3)),
        nn.MaxUnpool2d(2)(*pooled(values(torch, 1, 1, 4, 4))),
        raises("greater than 0", nn.TripletMarginLoss, margin=-1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "options", [{}, {"batch_first": True}, {"add_bias_kv": True, "add_zero_attn": True}, {"kdim": 3, "vdim": 2}]
)
def test_attention(options: dict[str, Any]) -> None:
    """Outputs, weights of the attention, and gradients."""

    def program(torch: Any) -> Any:
        module = filled(torch, torch.nn.MultiheadAttention(4, 2, **options).double())
        q = values(torch, 3, 2, 4).requires_grad_()
        k, v = values(torch, 3, 2, options.get("kdim", 4)), values(torch, 3, 2, options.get("vdim", 4))
        out, weights = module(q, k, v)
        out.sum().backward()
        alone = [module(q, k, v, need_weights=False)[0], module(q, k, v, average_attn_weights=False)[1]]
        return [repr(module), list(module.state_dict()), out, weights, q.grad, *alone]

    assert_agree(program)


@differential
def test_transformer(torch: Any) -> Any:
    """An encoder, a decoder and a mask together."""
    whole = filled(torch, torch.nn.Transformer(4, 2, 1, 1, 8, 0.0, batch_first=True).double())
    mask = whole.generate_square_subsequent_mask(2)
    out = whole(values(torch, 2, 3, 4), values(torch, 2, 2, 4), tgt_mask=mask.double())
    return [repr(whole), list(whole.state_dict()), mask, out]


@differential
def test_sequential(torch: Any) -> Any:
    """The ways of a list: indices, slices, insertion, removal, sums."""
    nn = torch.nn
    s = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Tanh())
    seen = [len(s), repr(s[0]), repr(s[-1]), repr(s[1:])]
    s.append(nn.Sigmoid())
    s[1] = nn.GELU()
    del s[0]
    s.insert(0, nn.ReLU())
    s.extend([nn.ELU()])
    named = nn.Sequential(OrderedDict([("a", nn.ReLU()), ("b", nn.Tanh())]))
    refused = [raises("out of range", s.__getitem__, 10), raises("not a Module subclass", nn.Sequential, 3)]
    return [seen, repr(s), repr(s.pop(0)), repr(s + named), repr(named[:1]), list(named._modules), refused]


@differential
def test_lists_and_dictionaries(torch: Any) -> Any:
    """Containers of modules and of parameters."""
    nn = torch.nn
    modules = nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Linear(1, 1)])
    modules.insert(1, nn.Tanh())
    modules += [nn.Tanh()]
    seen = [repr(modules), repr(modules[0:2]), list(modules.state_dict()), repr(modules + [nn.ReLU()])]
    del modules[0]
    named = nn.ModuleDict({"a": nn.Linear(1, 1), "b": nn.ReLU()})
    named.update([("f", nn.ELU())])
    seen += [repr(modules), repr(named), list(named), "a" in named, repr(named.pop("a")), len(named)]
    parameters = nn.ParameterList([torch.ones(2), nn.Parameter(torch.ones(1)), "text"])
    parameters[0] = torch.ones(5)
    seen += [repr(parameters), repr(parameters[1:]), list(parameters.state_dict()), parameters[-1]]
    kept = nn.ParameterDict({"a": torch.ones(2), "b": nn.Parameter(torch.ones(1))})
    kept["c"] = torch.ones(1)
    del kept["b"]
    seen += [repr(kept), list(kept.keys()), kept.pop("a"), kept.get("q"), len(kept)]
    refused = [
        raises("should not be called", parameters, 1), raises("with an iterable", parameters.extend, 3),
        raises("should be Iterable", named.update, [3]), raises("iterable of key/value", named.update, 3),
    ]  # fmt: skip
    return [*seen, refused]


WRONG = """
nn.Conv2d(3,4,3,groups=2)
nn.Conv2d(3,4,3,padding='x')
nn.Conv2d(3,4,3,stride=2,padding='same')
nn.Conv2d(3,4,3,padding_mode='x')
nn.ConvTranspose1d(3,4,3,padding_mode='reflect')
nn.Embedding(3,4,padding_idx=7)
nn.Dropout(3)
nn.GroupNorm(3,4)
nn.RNN(2,2,nonlinearity='x')
nn.LSTM(2,2,dropout=3)
nn.GRU(2,2,num_layers=0)
nn.GRU(2,2,proj_size=1)
nn.LSTM(2,2)(torch.ones(2,2,3))
nn.MultiheadAttention(4,3)
nn.Hardtanh(1,1)
nn.FractionalMaxPool2d(2)
nn.Unflatten(1,3)
nn.Transformer(4,2,1,1,8,batch_first=True)(torch.ones(2,1,4),torch.ones(2,1,3))
nn.Linear(2,2,foo=3)
"""


@pytest.mark.parametrize("line", WRONG.strip().splitlines())
def test_wrong_options(line: str) -> None:
    """Options that cannot be are refused with the same kind of error and, to the first clause, its words.

    PyTorch prints sets of choices in the order of their hashes, another one in every process: the words
    compared end where a set begins.
    """
    messages = []
    for engine in (pytest.importorskip("torch"), retrograd):
        with pytest.raises((ValueError, TypeError, RuntimeError, AssertionError)) as caught:
            eval(line, {"nn": engine.nn, "torch": engine})
        messages.append((caught.type, str(caught.value).split("{")[0][:40]))
    assert messages[0] == messages[1]


@differential
def test_attention_under_two_masks(torch: Any) -> Any:
    """What a mask hides and what comes later are both hidden, where one kernel computes all; also with fewer keys."""
    x = torch.arange(24.0).sin().reshape(1, 1, 4, 6).requires_grad_()
    hidden = torch.tensor([[1, 1, 1, 0], [1, 0, 1, 1], [0, 1, 0, 1], [0, 0, 1, 0]]).bool()
    seen = []
    for mask in (hidden, torch.arange(16.0).cos().reshape(4, 4)):
        out = torch.nn.functional.scaled_dot_product_attention(x, x, x, mask, is_causal=True)
        short = torch.nn.functional.scaled_dot_product_attention(
            x, x[..., :2, :], x[..., :2, :], mask[:, :2], 0.0, True
        )
        seen.append((out, short, torch.autograd.grad((out * short).sum(), x)[0]))
    return seen
