"""Custom Functions, SPEC rows F-48 and F-49: the jvp staticmethod, views and in-place writes in forward mode."""

from __future__ import annotations

from both_engines import differential, raises
from custom_functions import function, leaf, times


def _dual(torch, primal, tangent):
    return torch.autograd.forward_ad.make_dual(primal, tangent)


def _parts(torch, value):
    primal, tangent = torch.autograd.forward_ad.unpack_dual(value)
    return [primal, tangent]


def _level(torch):
    return torch.autograd.forward_ad.dual_level()


def _cube(torch):
    """A Function with a rule in each direction, both of which can be differentiated."""

    def forward(ctx, x):
        ctx.save_for_forward(x)
        ctx.save_for_backward(x)
        return x**3

    def rule(ctx, t):
        return 3 * ctx.saved_tensors[0] ** 2 * t

    return function(torch, forward, rule, jvp=rule)


@differential
def test_F_48_jvp(torch):
    "F-48: jvp gets one tangent per input and gives the output its tangent."

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_forward(x, w)
            return x * w

        @staticmethod
        def jvp(ctx, dx, dw):
            x, w = ctx.saved_tensors
            return dx * w + x * dw

    with _level(torch):
        x = _dual(torch, torch.tensor([2.0]), torch.tensor([1.0]))
        w = _dual(torch, torch.tensor([3.0]), torch.tensor([10.0]))
        return _parts(torch, Product.apply(x, w))


@differential
def test_F_48_what_jvp_gets(torch):
    "F-48: zeros for tensors without tangent, None for integers and non-tensors; grad mode on, forward mode off."
    seen = []

    def jvp(ctx, *tangents):
        seen.extend([list(tangents), torch.is_grad_enabled(), torch.autograd.forward_ad._is_fwd_grad_enabled()])
        return tangents[0] * 2

    F = function(torch, lambda ctx, *args: args[0] * 2, jvp=jvp)
    with _level(torch), torch.no_grad():
        x = _dual(torch, torch.ones(2), torch.tensor([1.0, 5.0]))
        out = _parts(torch, F.apply(x, torch.ones(3), torch.tensor([1, 2]), 7, None, torch.tensor([True])))
    return [seen, out]


@differential
def test_F_48_without_materialisation(torch):
    "F-48: with materialisation off a missing tangent is None."
    seen = []

    def forward(ctx, x, w):
        ctx.set_materialize_grads(False)
        return x * w

    def jvp(ctx, dx, dw):
        seen.append([dx, dw])
        return dx * 3

    with _level(torch):
        x = _dual(torch, torch.ones(1), torch.ones(1))
        return [_parts(torch, function(torch, forward, jvp=jvp).apply(x, torch.tensor([3.0]))), seen]


@differential
def test_F_48_not_called_without_tangent(torch):
    "F-48: without a dual argument, inside or outside a level, jvp is not called."
    calls = []
    F = function(torch, *times(2), jvp=lambda ctx, t: calls.append(1))
    F.apply(torch.ones(1))
    with _level(torch):
        F.apply(leaf(torch, 1.0))
        dual = _dual(torch, torch.ones(1), torch.ones(1))
        F2 = function(torch, lambda ctx, items: items[0] * 2, jvp=lambda ctx, t: calls.append(2))
        hidden = F2.apply([dual])
        return [calls, _parts(torch, hidden)[1]]


@differential
def test_F_48_undefined_jvp(torch):
    "F-48: a dual argument without a jvp is an error."
    F = function(torch, *times(2))
    with _level(torch):
        return raises("must implement the jvp function", F.apply, _dual(torch, torch.ones(1), torch.ones(1)))


@differential
def test_F_48_wrong_results(torch):
    "F-48: wrong number, kind, place or shape of what jvp returns."

    def attempt(result, forward=lambda ctx, x: x * 2):
        F = function(torch, forward, jvp=lambda ctx, t: result(t))
        return lambda: F.apply(_dual(torch, torch.ones(2), torch.ones(2)))

    def constant(ctx, x):
        y = x * 2
        ctx.mark_non_differentiable(y)
        return y

    with _level(torch):
        return [
            raises("invalid number of forward gradients (expected 1 but got 2)", attempt(lambda t: (t, t))),
            raises("invalid number of forward gradients (expected 2", attempt(lambda t: t, lambda ctx, x: (x * 2, x))),
            raises("expected Variable or None", attempt(lambda t: 3.0)),
            raises("is not a differentiable Tensor", attempt(lambda t: t, lambda ctx, x: x > 0)),
            raises("is not a differentiable Tensor", attempt(lambda t: t, constant)),
            raises("different size than that of the original Tensor", attempt(lambda t: t[:1])),
        ]


@differential
def test_F_48_several_outputs(torch):
    "F-48: one tangent per output; None where the output takes none."

    def forward(ctx, x):
        mask = x > 0
        ctx.mark_non_differentiable(mask)
        ctx.save_for_forward(x)
        return x * 2, mask, x**2, 5

    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return t * 2, None, 2 * x * t, None

    with _level(torch):
        y, mask, z, five = function(torch, forward, jvp=jvp).apply(_dual(torch, torch.tensor([3.0]), torch.ones(1)))
        return [_parts(torch, y), _parts(torch, z), _parts(torch, mask), five]


def test_F_48_none_is_no_tangent():
    """F-48: None for a differentiable output means no tangent (PyTorch 2.13 has an internal error there)."""
    import retrograd as torch

    F = function(torch, lambda ctx, x: x * 2, jvp=lambda ctx, t: None)
    with _level(torch):
        y = F.apply(_dual(torch, torch.ones(1), torch.ones(1)))
        assert _parts(torch, y)[1] is None


@differential
def test_F_48_attributes_and_setup_context(torch):
    "F-48: ctx attributes and save_for_forward of setup_context are there in jvp, and the latter is gone afterwards."
    seen = []

    def setup(ctx, inputs, output):
        ctx.k = inputs[1]
        ctx.save_for_forward(inputs[0], output, None)
        ctx.save_for_backward(output)

    def jvp(ctx, t, _):
        x, y, none = ctx.saved_tensors
        seen.append([len(ctx.saved_tensors), none, ctx.needs_input_grad, ctx.k])
        return t * ctx.k + 0 * y * x

    F = function(torch, lambda x, k: x * k, lambda ctx, g: (g * ctx.k, None), jvp=jvp, setup_context=setup)
    with _level(torch):
        y = F.apply(_dual(torch, leaf(torch, 2.0), torch.ones(1)), 3)
        return [_parts(torch, y), seen, y.grad_fn.saved_for_forward, y.grad_fn.saved_tensors]


@differential
def test_F_48_jvp_is_differentiable(torch):
    "F-48: jvp runs with grad mode on, so the tangent can be differentiated (forward over reverse)."
    x, v = leaf(torch, 2.0), leaf(torch, 5.0)
    with _level(torch):
        tangent = _parts(torch, _cube(torch).apply(_dual(torch, x, v)))[1]
    return [tangent, *torch.autograd.grad(tangent.sum(), (x, v))]


@differential
def test_F_48_reverse_through_a_backward_with_tangents(torch):
    "F-48: the gradient of a dual output carries a tangent when backward uses dual saved inputs."
    with _level(torch):
        x = _dual(torch, leaf(torch, 2.0), torch.tensor([1.0]))
        (g,) = torch.autograd.grad(_cube(torch).apply(x).sum(), x)
        return _parts(torch, g)


@differential
def test_F_48_chain_and_nesting(torch):
    "F-48: tangents flow through operators, through a chain of Functions, and not out of a Function used in forward."
    inner = function(torch, lambda ctx, x: x * 2, jvp=lambda ctx, t: seen.append("inner"))
    seen = []

    def forward(ctx, x):
        y = inner.apply(x)
        seen.append(_parts(torch, y)[1])
        return y * 3

    F = function(torch, forward, jvp=lambda ctx, t: t * 6)
    with _level(torch):
        x = _dual(torch, torch.ones(2), torch.tensor([1.0, 2.0]))
        return [_parts(torch, F.apply(F.apply(x * 2) + 1).sin()), seen]


@differential
def test_F_48_switched_off(torch):
    "F-48: with forward mode disabled jvp is not called."
    calls = []
    F = function(torch, lambda ctx, x: x * 2, jvp=lambda ctx, t: calls.append(1))
    with _level(torch):
        x = _dual(torch, torch.ones(1), torch.ones(1))
        with torch.autograd.forward_ad._set_fwd_grad_enabled(False):
            y = F.apply(x)
        return [calls, _parts(torch, y)[1]]


@differential
def test_F_48_mode_after_an_error(torch):
    "F-48: an exception in jvp surfaces unchanged, and the modes are back."
    F = function(torch, lambda ctx, x: x * 2, jvp=lambda ctx, t: 1 / 0)
    with _level(torch), torch.no_grad():
        x = _dual(torch, torch.ones(1), torch.ones(1))
        found = [raises("division", F.apply, x)]
        found += [torch.is_grad_enabled(), torch.autograd.forward_ad._is_fwd_grad_enabled()]
        return [*found, _parts(torch, x * 2)]


@differential
def test_F_48_dtype_of_the_tangent(torch):
    "F-48: a tangent of another floating dtype."
    F = function(torch, lambda ctx, x: x * 2, jvp=lambda ctx, t: t.double())
    with _level(torch):
        try:
            return _parts(torch, F.apply(_dual(torch, torch.ones(1), torch.ones(1))))
        except RuntimeError as error:
            return "same dtype" in str(error)


@differential
def test_F_49_view(torch):
    "F-49: where forward returns a view of a dual input, jvp must return a view of its tangent."
    good = function(torch, lambda ctx, x: x[1:], jvp=lambda ctx, t: t[1:])
    bad = function(torch, lambda ctx, x: x[1:], jvp=lambda ctx, t: t[1:].clone())
    with _level(torch):
        x = _dual(torch, torch.ones(3), torch.tensor([1.0, 2.0, 3.0]))
        return [_parts(torch, good.apply(x)), raises("but the jvp is not returning a view", bad.apply, x)]


@differential
def test_F_49_input_returned(torch):
    "F-49: an input returned as it is counts as a view."
    good = function(torch, lambda ctx, x: x, jvp=lambda ctx, t: t.view_as(t))
    bad = function(torch, lambda ctx, x: x, jvp=lambda ctx, t: t * 1)
    with _level(torch):
        x = _dual(torch, torch.ones(2), torch.tensor([1.0, 2.0]))
        y = good.apply(x)
        return [y is x, _parts(torch, y), raises("but the jvp is not returning a view", bad.apply, x)]


@differential
def test_F_49_input_returned_with_its_tangent(torch):
    "F-49: an input returned as it is, with the very tangent."
    F = function(torch, lambda ctx, x: x, jvp=lambda ctx, t: t)
    with _level(torch):
        x = _dual(torch, torch.ones(2), torch.tensor([1.0, 2.0]))
        try:
            return _parts(torch, F.apply(x))
        except RuntimeError as error:
            return [str(error)[:60]]


@differential
def test_F_49_dirty(torch):
    "F-49: for a dirty input the tangent must be modified in place and returned as the same object."

    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    def in_place(ctx, t):
        return t.mul_(2)

    def out_of_place(ctx, t):
        return t * 2

    def as_view(ctx, t):
        return t.mul_(2).view_as(t)

    with _level(torch):

        def dual():
            return _dual(torch, torch.ones(2), torch.tensor([1.0, 2.0]))

        x = dual()
        y = function(torch, forward, jvp=in_place).apply(x)
        return [
            y is x,
            _parts(torch, x),
            raises(
                "not modifying the forward mode gradients inplace",
                function(torch, forward, jvp=out_of_place).apply,
                dual(),
            ),
            raises(
                "not returning the forward mode gradients as-is", function(torch, forward, jvp=as_view).apply, dual()
            ),
        ]


@differential
def test_F_49_dirty_without_tangent(torch):
    "F-49: a dirty input without a tangent of its own takes the one that is returned."

    def forward(ctx, x, y):
        ctx.mark_dirty(x)
        return x.mul_(y)

    def jvp(ctx, tx, ty):
        tx.mul_(3.0)
        tx.add_(ty)
        return tx

    with _level(torch):
        x = torch.ones(1)
        y = _dual(torch, torch.tensor([3.0]), torch.tensor([10.0]))
        out = function(torch, forward, jvp=jvp).apply(x, y)
        return [out is x, _parts(torch, out), _parts(torch, x)]


@differential
def test_F_49_view_of_temporary(torch):
    "F-49: a view of something made in forward may have any tangent."
    F = function(torch, lambda ctx, x: (x * 2)[1:], jvp=lambda ctx, t: (t * 2)[1:])
    with _level(torch):
        return _parts(torch, F.apply(_dual(torch, torch.ones(3), torch.tensor([1.0, 2.0, 3.0]))))


@differential
def test_F_49_two_views(torch):
    "F-49: several views of one dual input."
    F = function(torch, lambda ctx, x: (x[:1], x[1:]), jvp=lambda ctx, t: (t[:1], t[1:]))
    with _level(torch):
        a, b = F.apply(_dual(torch, torch.ones(3), torch.tensor([1.0, 2.0, 3.0])))
        return [_parts(torch, a), _parts(torch, b)]


@differential
def test_F_48_inference_mode(torch):
    "F-48: inference mode switches forward mode off, so jvp is not called there."
    calls = []
    F = function(torch, lambda ctx, x: x * 2, jvp=lambda ctx, t: calls.append(1))
    with _level(torch):
        x = _dual(torch, torch.ones(1), torch.ones(1))
        with torch.inference_mode():
            y = F.apply(x)
            inside = [torch.autograd.forward_ad._is_fwd_grad_enabled(), _parts(torch, x * 2)[1]]
            with torch.inference_mode(False):
                inside.append(torch.autograd.forward_ad._is_fwd_grad_enabled())
        return [calls, _parts(torch, y), inside, torch.autograd.forward_ad._is_fwd_grad_enabled()]


@differential
def test_F_48_a_list_is_one_object(torch):
    "F-48: a list of tangents is one object of the wrong kind; a tuple of one is fine."
    several = function(torch, lambda ctx, x: (x * 2, x * 3), jvp=lambda ctx, t: [t * 2, t * 3])
    single = function(torch, lambda ctx, x: x * 2, jvp=lambda ctx, t: (t * 2,))
    with _level(torch):
        x = _dual(torch, torch.ones(1), torch.ones(1))
        return [raises("expected Variable or None (got list)", several.apply, x), _parts(torch, single.apply(x))]


@differential
def test_F_49_views_of_something_else(torch):
    "F-49: the tangent must be a view of the right tangent, and a view of a view counts by its base."
    other = torch.arange(6.0)
    elsewhere = function(torch, lambda ctx, x: x[1:], jvp=lambda ctx, t: other[:2])
    whole = function(torch, lambda ctx, x: x.view(3), jvp=lambda ctx, t: t)
    part = function(torch, lambda ctx, x: x[1:], jvp=lambda ctx, t: t[1:])
    phrase = "the jvp is not returning a view of the given grad input"
    with _level(torch):
        x = _dual(torch, torch.ones(3), torch.tensor([1.0, 2.0, 3.0]))
        return [
            raises(phrase, elsewhere.apply, x),
            raises("but the jvp is not returning a view", whole.apply, x),
            _parts(torch, part.apply(x[1:])),
            _parts(
                torch, function(torch, lambda ctx, x, y: x[1:], jvp=lambda ctx, t, u: u[1:] * 2).apply(torch.ones(3), x)
            ),
        ]


@differential
def test_F_49_dirty_but_not_modified(torch):
    "F-49: the tangent of a dirty input returned without a write is refused."

    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    F = function(torch, forward, jvp=lambda ctx, t: t)
    with _level(torch):
        x = _dual(torch, torch.ones(2), torch.ones(2))
        return raises("not modifying the forward mode gradients inplace", F.apply, x)
