"""SPEC rows V-22, G-28, E-9: gradients that nodes only pass on are the program's own tensors, or views of them."""

from __future__ import annotations

from both_engines import differential, raises

PASSES_ON = (
    lambda torch, x: x.expand(3, 4), lambda torch, x: x.view(4, 3), lambda torch, x: x.reshape(12),
    lambda torch, x: x.t(), lambda torch, x: x.permute(1, 0), lambda torch, x: x.unsqueeze(0),
    lambda torch, x: x.squeeze(), lambda torch, x: x.unsqueeze(1).squeeze(1), lambda torch, x: x + 1,
    lambda torch, x: x + torch.ones(3, 1), lambda torch, x: x.clone(), lambda torch, x: x.sum(),
    lambda torch, x: x.sum(0), lambda torch, x: x[0], lambda torch, x: x * 2, lambda torch, x: x.repeat(1, 1),
    lambda torch, x: torch.cat([x]), lambda torch, x: torch.stack([x, x]), lambda torch, x: x.unflatten(1, (2, 2)),
)  # fmt: skip


def _shares(a, b):
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def _relation(g, given):
    """How two tensors are related, before and after a write to the second."""
    before = [g is given, _shares(g, given), g._base is given]
    versions = [g._version, given._version]
    given.add_(1)
    return [*before, g._version - versions[0], given._version - versions[1], g]


@differential
def test_V_22_a_gradient_shares_memory_and_version_with_the_one_it_was_given(torch):
    """V-22: without a graph and with one, ``grad`` returns the given tensor, a view of it, or one of its own."""
    found = []
    for operation in PASSES_ON:
        for create_graph in (False, True):
            x = torch.arange(12.0).view(3, 4).clone().requires_grad_()
            y = operation(torch, x)
            given = torch.full_like(y, 2.0)
            given = given.requires_grad_() * 1 if create_graph else given
            (g,) = torch.autograd.grad(y, x, given, create_graph=create_graph)
            with torch.no_grad():
                found.append(_relation(g, given))
    return found


@differential
def test_V_25_hooks_see_the_tensor_that_goes_on(torch):
    """V-25: a gradient that several hooks see is one tensor or views of it; a write in one hook raises them all."""
    found, seen = [], []
    x = torch.ones(3, 4, requires_grad=True)
    a = x * 2
    b = a.view(12)
    c = b + 1
    d = c * 3
    c.register_hook(seen.append)
    b.register_hook(seen.append)
    a.register_hook(lambda g: (seen.append(g), g.mul_(2), None)[2])
    d.sum().backward()
    found.append([[s is r for r in seen] for s in seen])
    found.append([[s._base is r for r in seen] for s in seen])
    return [*found, [s._version for s in seen], seen, x.grad]


@differential
def test_E_9_hooks_of_nodes_see_the_same_tensors(torch):
    """E-9: a node's hooks and the pre hook of the next node get one and the same tensor."""
    x = torch.ones(3, 4, requires_grad=True)
    y = x + 1
    z = y.view(12)
    seen = []
    z.grad_fn.register_prehook(lambda outputs: seen.append(outputs[0]))
    z.grad_fn.register_hook(lambda inputs, outputs: seen.extend([outputs[0], inputs[0]]))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.extend([outputs[0], inputs[0]]))
    given = torch.ones(12)
    z.backward(given)
    return [[s is given, s._base is given, s is seen[2]] for s in seen]


@differential
def test_V_22_a_leaf_takes_a_view_of_the_given_gradient_over(torch):
    """V-22: ``.grad`` is a view's memory where nobody else has that view, so adding to it changes what was given."""
    found = []
    for operation in (lambda x: x.view(12), lambda x: x + 1, lambda x: x.t(), lambda x: x.sum(), lambda x: x[None]):
        x = torch.ones(3, 4, requires_grad=True)
        given = torch.ones_like(operation(x))
        operation(x).backward(given)
        found.append([_shares(x.grad, given), x.grad._is_view(), x.grad._version, given._version])
        operation(x).backward(given)
        found.append([x.grad, given, x.grad._version, given._version])
    x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    given = torch.ones(6)
    torch.cat([x, w]).backward(given)
    return [*found, _shares(x.grad, given), _shares(w.grad, given)]


@differential
def test_V_22_leaves_are_filled_in_the_order_of_operands(torch):
    """V-22: of leaves that one gradient reaches, all but the last take a copy, so a write to one shows in no other."""

    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            return x + w

        @staticmethod
        def backward(ctx, g):
            return g, g

    found = []
    for operation in (lambda x, w: x + w, lambda x, w: w + x, lambda x, w: x - w, Sum.apply, lambda x, w: x + w + x):
        x, w = torch.ones(2, 3, requires_grad=True), torch.ones(2, 3, requires_grad=True)
        given = torch.ones(6)
        operation(x, w).view(6).backward(given)
        found.append([_shares(x.grad, given), _shares(w.grad, given), _shares(x.grad, w.grad)])
        x.grad.mul_(2)
        w.grad.add_(1)
        found.append([x.grad, w.grad, given])
        x.grad = w.grad = None
        (operation(x, w) * 2)[0].sum().backward()
        found.append([x.grad, w.grad])
    return found


@differential
def test_V_22_results_of_one_call_are_related_too(torch):
    """V-22: inputs with one gradient get one tensor; that of a view's base is a view of that of the view."""
    x, w = torch.ones(3, 4, requires_grad=True), torch.ones(3, 4, requires_grad=True)
    h = x * 1
    b = h.view(12)
    on_h, on_b = torch.autograd.grad((b * 2).sum(), [h, b])
    first, second = torch.autograd.grad((x + w).sum(), [x, w])
    twice = torch.autograd.grad((x * 2).sum(), [x, x])
    return [on_h._base is on_b, on_b._is_view(), first is second, first._is_view(), twice[0] is twice[1]]


@differential
def test_V_22_a_given_gradient_that_requires_grad(torch):
    """V-22: returned as it is it requires grad; views of it were made in no_grad mode and are not to be written."""
    x = torch.ones(3, 4, requires_grad=True)
    found = []
    for operation in (lambda x: x + 1, lambda x: x.view(12), lambda x: x * 2):
        y = operation(x)
        given = torch.ones_like(y, requires_grad=True)
        (g,) = torch.autograd.grad(y, x, given)
        found.append([g.requires_grad, g.is_leaf, g.grad_fn is None])
    return [*found, raises("no_grad mode", torch.autograd.grad(x.view(12), x, given.view(12))[0].add_, 1)]


@differential
def test_F_30_backward_of_a_function_gets_the_given_tensor(torch):
    """F-30: what a custom Function's backward gets and returns is the tensor itself, and its writes are counted."""

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            g.mul_(2)
            return g

    x = torch.ones(3, requires_grad=True)
    given = torch.ones(3)
    (g,) = torch.autograd.grad(Same.apply(x), x, given)
    return [g is given, given._version, given]
