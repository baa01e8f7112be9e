"""Which lines demand that two results are equal, so that a random difference between them is a finding."""

from __future__ import annotations

import pytest

from retrograd.inspect.diagnose.text.equality import demands_equality


@pytest.mark.parametrize(
    "text",
    [
        "assert torch.equal(a, b)",
        "assert bool((a == b).all()), 'they differ'",
        "assert (a - b).abs().max() < 1e-6",
        "torch.testing.assert_close(a, b)",
        "np.testing.assert_allclose(a, b)",
        "self.assertEqual(first, second)",
        "if not torch.allclose(a, b):\n    raise ValueError",
        "if (a != b).any():\n    raise ValueError",
        'print("same:", bool((a == b).all()))',
        'print(f"equal: {torch.equal(a, b)}")',
    ],
)
def test_a_demand_is_seen(text):
    assert demands_equality(dict(enumerate(text.splitlines())))


@pytest.mark.parametrize(
    "text",
    [
        "assert not torch.equal(a, b)",
        "assert (a != b).any()",
        "assert (a - b).abs().mean() > 0",
        "assert a.shape == b.shape",
        "assert len(grads) == 2",
        "if torch.equal(a, b):\n    raise ValueError",
        "if not torch.equal(a, b):\n    count += 1",
        "print(torch.equal(a, b))",
        'print("spread", (a - b).abs().mean())',
        'print("same picture, not equal:", not torch.equal(a, b))',
        "assert torch.isfinite(a).all()",
    ],
)
def test_a_look_or_the_opposite_is_none(text):
    assert not demands_equality(dict(enumerate(text.splitlines())))
