"""Custom Functions for either engine: right ones, ones that are meant to be something else, and wrong ones.

Each maker gets the module of an engine and returns a Function and the arguments of one call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.inspect import deliberate

Made = tuple[Any, tuple[Any, ...]]
RIGHT: dict[str, Callable[[Any], Made]] = {}
MEANT: dict[str, Callable[[Any], Made]] = {}
WRONG: dict[str, tuple[Callable[[Any], Made], str]] = {}
"""Name -> its maker and the argument whose derivative is wrong."""


def right(maker: Callable[[Any], Made]) -> Callable[[Any], Made]:
    """Its backward is the derivative."""
    RIGHT[maker.__name__] = maker
    return maker


def meant(maker: Callable[[Any], Made]) -> Callable[[Any], Made]:
    """Its backward is something else on purpose."""
    MEANT[maker.__name__] = maker
    return maker


def wrong(argument: str) -> Callable[[Callable[[Any], Made]], Callable[[Any], Made]]:
    """Its backward is wrong in one argument."""

    def keep(maker: Callable[[Any], Made]) -> Callable[[Any], Made]:
        WRONG[maker.__name__] = maker, argument
        return maker

    return keep


def drawn(torch: Any, *shape: int, requires_grad: bool = True, positive: bool = False) -> Any:
    """Return normal numbers; both engines are seeded by the tests."""
    x = torch.randn(*shape)
    return (x.abs() + 0.1 if positive else x).requires_grad_(requires_grad)


def function(torch: Any, forward: Any, backward: Any, **more: Any) -> Any:
    """Return a Function class with these rules."""
    rules = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(more.pop("name", "Made"), (torch.autograd.Function,), rules | more)


# -- right


@right
def exponential_saves_its_output(torch: Any) -> Made:
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    return function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0]), (drawn(torch, 3, 4),)


@right
def linear_with_frozen_bias(torch: Any) -> Made:
    def forward(ctx, x, w, bias):
        ctx.save_for_backward(x, w)
        return x @ w + bias

    def backward(ctx, g):
        x, w = ctx.saved_tensors
        need_x, need_w, need_bias = ctx.needs_input_grad
        return g @ w.t() if need_x else None, x.t() @ g if need_w else None, g.sum(0) if need_bias else None

    made = drawn(torch, 5, 3), drawn(torch, 3, 2), drawn(torch, 2, requires_grad=False)
    return function(torch, forward, backward), made


@right
def bias_gradient_left_to_be_summed(torch: Any) -> Made:
    made = drawn(torch, 5, 3), torch.zeros(3, requires_grad=True)
    return function(torch, lambda ctx, x, bias: x + bias, lambda ctx, g: (g, g)), made


@right
def arguments_that_are_no_tensors(torch: Any) -> Made:
    def forward(ctx, x, power, name, shape):
        ctx.save_for_backward(x)
        ctx.power, ctx.shape = power, x.shape
        return (x**power).reshape(shape)

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return (ctx.power * x ** (ctx.power - 1)) * g.reshape(ctx.shape), None, None, None

    return function(torch, forward, backward), (drawn(torch, 2, 6), 3, "cube", (3, 4))


@right
def output_marked_as_not_differentiable(torch: Any) -> Made:
    def forward(ctx, x):
        mask = x > 0
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return x * mask, mask

    return function(torch, forward, lambda ctx, g, _: g * ctx.saved_tensors[0]), (drawn(torch, 4, 4),)


@right
def writes_in_place_and_says_so(torch: Any) -> Made:
    def forward(ctx, x, scale):
        ctx.mark_dirty(x)
        ctx.scale = scale
        return x.mul_(scale)

    x = drawn(torch, 6) * 1.0
    return function(torch, forward, lambda ctx, g: (g * ctx.scale, None)), (x, 2.5)


@right
def with_a_separate_context(torch: Any) -> Made:
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (1 - y * y)

    return function(torch, lambda x: x.tanh(), backward, setup_context=staticmethod(setup_context)), (drawn(torch, 5),)


@right
def picks_rows_by_integers(torch: Any) -> Made:
    def forward(ctx, table, rows):
        ctx.save_for_backward(rows)
        ctx.rows = table.shape[0]
        return table[rows]

    def backward(ctx, g):
        (rows,) = ctx.saved_tensors
        return torch.zeros(ctx.rows, g.shape[1], dtype=g.dtype).index_add(0, rows, g), None

    return function(torch, forward, backward), (drawn(torch, 5, 3), torch.tensor([0, 4, 4, 2]))


@right
def once_differentiable_in_numpy(torch: Any) -> Made:
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.detach().sin()

    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.cos()

    return function(torch, forward, backward), (drawn(torch, 7),)


@right
def relu_at_its_kink(torch: Any) -> Made:
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    x = torch.tensor([-1.0, 0.0, 0.0, 2.0], requires_grad=True)
    return function(torch, forward, lambda ctx, g: g * (ctx.saved_tensors[0] > 0)), (x,)


@right
def absolute_value_of_zeros(torch: Any) -> Made:
    def forward(ctx, x):
        ctx.save_for_backward(x.sign())
        return x.abs()

    return function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0]), (torch.zeros(4, requires_grad=True),)


@right
def largest_among_ties(torch: Any) -> Made:
    def forward(ctx, x):
        value, where = x.max(1)
        ctx.save_for_backward(where)
        ctx.width = x.shape[1]
        return value

    def backward(ctx, g):
        (where,) = ctx.saved_tensors
        return torch.zeros(len(g), ctx.width, dtype=g.dtype).scatter(1, where[:, None], g[:, None])

    return function(torch, forward, backward), (torch.ones(3, 4, requires_grad=True),)


@right
def logarithm_of_tiny_numbers(torch: Any) -> Made:
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.log()

    x = torch.tensor([1e-6, 1e-3, 1.0, 1e4], requires_grad=True)
    return function(torch, forward, lambda ctx, g: g / ctx.saved_tensors[0]), (x,)


@right
def softmax_by_hand(torch: Any) -> Made:
    def forward(ctx, x):
        y = x.softmax(-1)
        ctx.save_for_backward(y)
        return y

    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return y * (g - (g * y).sum(-1, keepdim=True))

    return function(torch, forward, backward), (drawn(torch, 3, 5),)


@right
def works_in_single_precision_only(torch: Any) -> Made:
    weight = torch.randn(4, 2)

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x * x) @ weight

    return function(torch, forward, lambda ctx, g: 2 * ctx.saved_tensors[0] * (g @ weight.t())), (drawn(torch, 3, 4),)


@right
def dropout_that_keeps_its_mask(torch: Any) -> Made:
    def forward(ctx, x):
        mask = (torch.rand(x.shape) > 0.5) * 2.0
        ctx.save_for_backward(mask)
        return x * mask

    return function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0]), (drawn(torch, 20),)


@right
def inverse_of_a_symmetric_matrix(torch: Any) -> Made:
    def forward(ctx, x):
        y = torch.linalg.inv(x)
        ctx.save_for_backward(y)
        return y

    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return -(y @ (g + g.t()) @ y) / 2  # what a change of a symmetric matrix sees

    a = torch.randn(3, 3)
    return function(torch, forward, backward), ((a @ a.t() + torch.eye(3)).requires_grad_(),)


@right
def large_inputs(torch: Any) -> Made:
    def forward(ctx, x, w, width):
        ctx.save_for_backward(x, w)
        return (x @ w).reshape(-1, width)

    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g @ w.t(), x.t() @ g, None

    return function(torch, forward, backward), (drawn(torch, 300, 200), drawn(torch, 200, 280), 280)


# -- meant


@meant
def straight_through_rounding(torch: Any) -> Made:
    return function(torch, lambda ctx, x: x.round(), lambda ctx, g: g), (drawn(torch, 3, 4),)


@meant
def straight_through_sign_with_a_window(torch: Any) -> Made:
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sign()

    return function(torch, forward, lambda ctx, g: g * (ctx.saved_tensors[0].abs() <= 1)), (drawn(torch, 3, 4),)


@meant
def binary_weights_with_a_scale(torch: Any) -> Made:
    return function(torch, lambda ctx, w: w.sign() * w.abs().mean(), lambda ctx, g: g), (drawn(torch, 3, 4),)


@meant
def fake_quantization_with_a_learned_step(torch: Any) -> Made:
    def forward(ctx, x, step):
        ctx.save_for_backward(x, step)
        return (x / step).round().clamp(-8, 7) * step

    def backward(ctx, g):
        x, step = ctx.saved_tensors
        scaled = x / step
        inside = (scaled > -8) & (scaled < 7)
        slope = torch.where(inside, scaled.round() - scaled, scaled.clamp(-8, 7))
        return g * inside, (g * slope).sum().reshape(1)

    return function(torch, forward, backward), (drawn(torch, 30), torch.tensor([0.1], requires_grad=True))


@meant
def gradient_reversal(torch: Any) -> Made:
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    return function(torch, forward, lambda ctx, g: (-ctx.strength * g, None)), (drawn(torch, 4), 0.3)


@meant
def gradient_scaling_of_a_copy(torch: Any) -> Made:
    return function(torch, lambda ctx, x: x.clone(), lambda ctx, g: g * 0.1), (drawn(torch, 4),)


@meant
def gradient_clipping(torch: Any) -> Made:
    return function(torch, lambda ctx, x: x * 1.0, lambda ctx, g: g.clamp(-0.01, 0.01)), (drawn(torch, 4),)


@meant
def penalty_added_to_the_gradient(torch: Any) -> Made:
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()

    return function(torch, forward, lambda ctx, g: g + 0.1 * ctx.saved_tensors[0].sign()), (drawn(torch, 4),)


@meant
def auxiliary_loss_attached(torch: Any) -> Made:
    def backward(ctx, g):
        return g, torch.ones(1, dtype=g.dtype)

    return function(torch, lambda ctx, x, loss: x.clone(), backward), (drawn(torch, 4), drawn(torch, 1))


@meant
def guided_relu(torch: Any) -> Made:
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    return function(torch, forward, lambda ctx, g: g.clamp(min=0) * (ctx.saved_tensors[0] > 0)), (drawn(torch, 9),)


@meant
def clamp_that_lets_gradients_pass(torch: Any) -> Made:
    return function(torch, lambda ctx, x: x.clamp(-0.5, 0.5), lambda ctx, g: g), (drawn(torch, 9),)


@meant
def clamp_that_leaks(torch: Any) -> Made:
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(-0.5, 0.5)

    def backward(ctx, g):
        return torch.where(ctx.saved_tensors[0].abs() <= 0.5, g, 0.01 * g)

    return function(torch, forward, backward), (drawn(torch, 9),)


@meant
def lower_bound_that_pulls_back(torch: Any) -> Made:
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0.5)

    return function(torch, forward, lambda ctx, g: g * ((ctx.saved_tensors[0] >= 0.5) | (g < 0))), (drawn(torch, 9),)


@meant
def spike_with_a_surrogate(torch: Any) -> Made:
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x > 0) * 1.0 + 0 * x

    return function(torch, forward, lambda ctx, g: g / (1 + ctx.saved_tensors[0].abs()) ** 2), (drawn(torch, 9),)


@meant
def nearest_row_of_a_codebook(torch: Any) -> Made:
    def forward(ctx, x, codes):
        return codes[((x[:, None] - codes) ** 2).sum(-1).argmin(1)]

    return function(torch, forward, lambda ctx, g: (g, None)), (
        drawn(torch, 6, 2),
        drawn(torch, 4, 2, requires_grad=False),
    )


@meant
def padding_row_of_a_table(torch: Any) -> Made:
    def forward(ctx, table, rows, padding):
        ctx.save_for_backward(rows)
        ctx.shape, ctx.padding = table.shape, padding
        return table[rows]

    def backward(ctx, g):
        (rows,) = ctx.saved_tensors
        found = torch.zeros(ctx.shape, dtype=g.dtype).index_add(0, rows, g)
        found[ctx.padding] = 0
        return found, None, None

    return function(torch, forward, backward), (drawn(torch, 5, 3), torch.tensor([0, 4, 0, 2]), 0)


@meant
def binary_weights_with_a_slope(torch: Any) -> Made:
    def forward(ctx, w):
        ctx.save_for_backward(w)
        return w.sign() * w.abs().mean()

    def backward(ctx, g):
        (w,) = ctx.saved_tensors
        return g * (1 / w.numel() + w.abs().mean() * (w.abs() <= 1))

    return function(torch, forward, backward), (drawn(torch, 3, 4),)


@meant
def pruning_that_pulls_weights_to_zero(torch: Any) -> Made:
    def forward(ctx, w, share):
        ranked, _ = w.abs().reshape(-1).sort()
        mask = w.abs() >= ranked[int(share * w.numel())]
        ctx.save_for_backward(w, mask)
        return w * mask

    def backward(ctx, g):
        w, mask = ctx.saved_tensors
        return g + 2e-4 * torch.where(mask, torch.zeros_like(w), w), None

    return function(torch, forward, backward), (drawn(torch, 4, 4), 0.5)


@meant
def marked_so(torch: Any) -> Made:
    made = deliberate(function(torch, lambda ctx, x: x.clamp(min=0) * 2, lambda ctx, g: g))
    return made, (drawn(torch, 9),)


# -- wrong


@meant
def approximate_by_a_few_percent(torch: Any) -> Made:
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.exp() * (1 + 0.02 * x.sin())  # as the adjoint of a solver with other steps is

    return function(torch, forward, backward), (drawn(torch, 6, 4),)


@wrong("x")
def a_factor_forgotten_in_one_term(torch: Any) -> Made:
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    def backward(ctx, g):
        _, s = ctx.saved_tensors
        return g * (s + s * (1 - s))  # off by a few percent along most directions

    return function(torch, forward, backward), (drawn(torch, 6, 4),)


@wrong("x")
def factor_missing(torch: Any) -> Made:
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    return function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0] ** 2), (drawn(torch, 3, 4),)


@wrong("x")
def sign_wrong(torch: Any) -> Made:
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.cos()

    return function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0].sin()), (drawn(torch, 3, 4),)


@wrong("x")
def incoming_gradient_forgotten(torch: Any) -> Made:
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    return function(torch, forward, lambda ctx, g: 2 * ctx.saved_tensors[0]), (drawn(torch, 3, 4),)


@wrong("x")
def output_saved_for_input(torch: Any) -> Made:
    def forward(ctx, x):
        y = x.tanh()
        ctx.save_for_backward(y)
        return y

    return function(torch, forward, lambda ctx, g: g * (1 - ctx.saved_tensors[0])), (drawn(torch, 3, 4),)


@wrong("x")
def mask_forgotten(torch: Any) -> Made:
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    return function(torch, forward, lambda ctx, g: g), (drawn(torch, 9),)


@wrong("x")
def signed_root(torch: Any) -> Made:
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sign() * x.abs().sqrt()

    return function(torch, forward, lambda ctx, g: g * 0.5 * ctx.saved_tensors[0].abs().sqrt()), (drawn(torch, 9),)


@wrong("x")
def reciprocal_without_its_sign(torch: Any) -> Made:
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 1 / x

    return function(torch, forward, lambda ctx, g: g / ctx.saved_tensors[0] ** 2), (drawn(torch, 9),)


@wrong("x")
def leak_forgotten(torch: Any) -> Made:
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x > 0, x, 0.1 * x)

    return function(torch, forward, lambda ctx, g: g * (ctx.saved_tensors[0] > 0)), (drawn(torch, 9),)


@wrong("table")
def repeated_rows_not_added(torch: Any) -> Made:
    def forward(ctx, table, rows):
        ctx.save_for_backward(rows)
        ctx.shape = table.shape
        return table[rows]

    def backward(ctx, g):
        (rows,) = ctx.saved_tensors
        found = torch.zeros(ctx.shape, dtype=g.dtype)
        found[rows] = g
        return found, None

    return function(torch, forward, backward), (drawn(torch, 5, 3), torch.tensor([0, 4, 4, 2]))


@wrong("x")
def softmax_without_its_sum(torch: Any) -> Made:
    def forward(ctx, x):
        y = x.softmax(-1)
        ctx.save_for_backward(y)
        return y

    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y * (1 - y)

    return function(torch, forward, backward), (drawn(torch, 3, 5),)


@wrong("w")
def weight_gets_the_wrong_product(torch: Any) -> Made:
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g @ w.t(), (g.t() @ x)

    return function(torch, forward, backward), (drawn(torch, 3, 3), drawn(torch, 3, 3))


@wrong("b")
def arguments_swapped(torch: Any) -> Made:
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b * b

    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b * b, g * a * a

    return function(torch, forward, backward), (drawn(torch, 4), drawn(torch, 4))


@wrong("w")
def weight_left_out(torch: Any) -> Made:
    def forward(ctx, x, w):
        ctx.save_for_backward(w)
        return x * w

    return function(torch, forward, lambda ctx, g: (g * ctx.saved_tensors[0], None)), (drawn(torch, 4), drawn(torch, 4))


@wrong("x")
def mean_without_its_count(torch: Any) -> Made:
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.mean()

    return function(torch, forward, lambda ctx, g: g.expand(ctx.shape)), (drawn(torch, 4, 4),)


@wrong("x")
def wrong_in_one_row_only(torch: Any) -> Made:
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    def backward(ctx, g):
        out = g * ctx.saved_tensors[0].cos()
        return torch.cat([out[:-1], out[-1:] * 0])

    return function(torch, forward, backward), (drawn(torch, 10, 3),)


@wrong("x")
def wrong_in_single_precision_only(torch: Any) -> Made:
    weight = torch.randn(4, 2)

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x * x) @ weight

    return function(torch, forward, lambda ctx, g: ctx.saved_tensors[0] * (g @ weight.t())), (drawn(torch, 3, 4),)


@wrong("x")
def large_and_wrong(torch: Any) -> Made:
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x @ w).relu()

    def backward(ctx, g):
        x, w = ctx.saved_tensors
        g = g * (x @ w > 0)
        return -g @ w.t(), x.t() @ g

    return function(torch, forward, backward), (drawn(torch, 300, 200), drawn(torch, 200, 280))
