"""SPEC rows G-1, V-13: operands that a kernel casts are the tensors themselves to the graph."""

from __future__ import annotations

from both_engines import differential, raises

TOGETHER = (
    lambda torch, x, w: x * w, lambda torch, x, w: x + w, lambda torch, x, w: x / w, lambda torch, x, w: w - x,
    lambda torch, x, w: torch.where(x > 0, x, w), lambda torch, x, w: torch.cat([x, w]),
    lambda torch, x, w: torch.atan2(x, w), lambda torch, x, w: torch.maximum(x, w), lambda torch, x, w: x * 1j + w,
)  # fmt: skip


@differential
def test_G_1_a_cast_for_promotion_is_no_node(torch):
    """G-1: the next function is the operand's own, and gradients of all orders have the operands' dtypes."""
    found = []
    for operation in TOGETHER:
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        w = torch.tensor([2.0, 3.0, 4.0], dtype=torch.float64, requires_grad=True)
        y = operation(torch, x, w)
        found.append([n if n is None else n.name() for n, _ in y.grad_fn.next_functions])
        first = torch.autograd.grad(y.abs().sum(), [x, w], create_graph=True)
        total = first[0].sum() + first[1].sum()
        second = torch.autograd.grad(total, [x, w], allow_unused=True) if total.requires_grad else ()
        found.extend(str(g.dtype) for g in first)
        found.extend(g for g in second if g is not None)
    return found


@differential
def test_V_13_writes_to_a_cast_operand_are_noticed(torch):
    """V-13: the operand is what was saved, so a later write to it is refused in backward."""
    x = torch.ones(3, requires_grad=True)
    w = torch.ones(3, dtype=torch.float64, requires_grad=True)
    y = (x * w).sum()
    with torch.no_grad():
        x.mul_(2)
    return raises("modified by an inplace operation", y.backward)


@differential
def test_G_1_numbers_of_composites_have_no_edge(torch):
    """G-1: where a loss itself brings in a number, the node has one operand."""

    def chain(t):
        nodes, found = [t.grad_fn], []
        for node in nodes:
            found.append([n if n is None else n.name() for n, _ in node.next_functions])
            nodes.extend(n for n, _ in node.next_functions if n is not None)
        return found

    functional = torch.nn.functional
    a, b = torch.ones(2, 3, requires_grad=True), torch.full((2, 3), 2.0)
    sign = torch.tensor([1, -1])
    losses = (
        functional.pairwise_distance(a, b), functional.cosine_embedding_loss(a, b, sign, 0.1),
        functional.margin_ranking_loss(a, b, torch.ones(2, 3), 1), functional.triplet_margin_loss(a, b, b),
        functional.hinge_embedding_loss(a, b), torch.trapezoid(a, dx=2.0), torch.gradient(a, dim=1)[0],
        torch.cumulative_trapezoid(a), functional.rms_norm(a, (3,)),
    )  # fmt: skip
    return [chain(loss) for loss in losses]
