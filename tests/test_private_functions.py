"""Functions of PyTorch with an underscore, and forms of ``out=``, that programs seldom write."""

from __future__ import annotations

import warnings
from typing import Any

from both_engines import differential, raises, warned


@differential
def test_numbers_of_dirichlet(torch: Any) -> Any:
    """``_sample_dirichlet``: from the same seed the same shares."""
    torch.manual_seed(3)
    made = [torch._sample_dirichlet(torch.tensor([1.0, 2.0])), torch._sample_dirichlet(torch.tensor(2.0)),
            torch._sample_dirichlet(torch.tensor([[1.0, 0.01], [3.0, 0.5]], dtype=torch.float64))]  # fmt: skip
    refused = raises("not implemented for 'Long'", torch._sample_dirichlet, torch.tensor([1, 2]))
    return [*made, refused, raises("not implemented for 'Half'", torch._sample_dirichlet, made[0].half())]


@differential
def test_indexing_without_a_look_at_the_range(torch: Any) -> Any:
    """``_unsafe_index`` and its like: values and gradients."""
    x, i = torch.arange(12.0).reshape(3, 4).requires_grad_(), torch.tensor([2, 0, 2])
    values = torch.ones(3, 4, requires_grad=True)
    out = [torch._unsafe_index(x, [i]), torch._unsafe_index(x, [i, i]),
           torch._unsafe_index_put(x, [i], values * 2, True)]  # fmt: skip
    grads = torch.autograd.grad(sum(t.sin().sum() for t in out), [x, values])
    return [t.detach() for t in out], *grads


@differential
def test_old_lu_writes_into_three_tensors(torch: Any) -> Any:
    """``lu(get_infos=True, out=...)`` returns the tensors that it was given; one too few is refused."""
    A = torch.arange(16.0).sin().reshape(4, 4) + torch.eye(4)  # noqa: N806
    out = torch.empty(0), torch.empty(0, dtype=torch.int32), torch.empty(0, dtype=torch.int32)
    heard, made = warned("torch.lu is deprecated", torch.lu, A, get_infos=True, out=out)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refused = raises("expected tuple of 3 elements but got 2", torch.lu, A, get_infos=True, out=out[:2])
    return [heard, type(made).__name__, all(a is b for a, b in zip(made, out)), *out, refused]  # noqa: B905
