"""Steps of complex parameters: real and imaginary parts have squares and signs of their own, as in PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd

real_torch = pytest.importorskip("torch")

OPTIMIZERS = {
    "SGD": {"momentum": 0.9, "weight_decay": 0.1}, "Adam": {"amsgrad": True, "weight_decay": 0.1}, "AdamW": {},
    "RMSprop": {"centered": True, "momentum": 0.1}, "Adagrad": {"initial_accumulator_value": 0.5}, "Adadelta": {},
    "Rprop": {}, "NAdam": {}, "RAdam": {}, "Adamax": {}, "ASGD": {},
    "LBFGS": {"line_search_fn": "strong_wolfe", "max_iter": 5},
}  # fmt: skip


def trained(torch: Any, name: str) -> list[tuple[str, str, list[Any]]]:
    """Parameters and state after some steps, halfway through which the state is saved and loaded."""
    values = np.arange(6.0).reshape(2, 3) + 1j * np.cos(np.arange(6.0)).reshape(2, 3)
    params = [torch.nn.Parameter(torch.tensor(values)), torch.nn.Parameter(torch.tensor(values.real + 0.5))]
    params.append(torch.nn.Parameter(torch.ones(2, dtype=torch.complex128)))  # gets no gradient

    def closure() -> Any:
        optimizer.zero_grad()
        loss = ((params[0] * (1 + 2j)).sin().abs() ** 2 * params[1]).sum()
        loss.backward()
        return loss

    optimizer = getattr(torch.optim, name)(params, lr=0.01, **OPTIMIZERS[name])
    for i in range(6):
        optimizer.step(closure)
        if i == 2:
            saved = optimizer.state_dict()
            optimizer = getattr(torch.optim, name)(params, lr=0.01, **OPTIMIZERS[name])
            optimizer.load_state_dict(saved)
    found = [("p", str(p.dtype), p.detach().tolist()) for p in params]
    for i, state in optimizer.state_dict()["state"].items():
        kept = ((key, value) for key, value in state.items() if isinstance(value, torch.Tensor))
        found += [(f"{i}.{key}", str(value.dtype), value.tolist()) for key, value in kept]
    return sorted(found, key=lambda row: row[0])


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_of_complex_parameters(name: str) -> None:
    ours, theirs = trained(retrograd, name), trained(real_torch, name)
    if name == "LBFGS":  # its state is of one flat vector
        ours, theirs = ([row for row in rows if row[0] == "p"] for rows in (ours, theirs))
    assert [row[0] for row in ours] == [row[0] for row in theirs]
    for (key, dtype, values), (_, expected_dtype, expected) in zip(ours, theirs, strict=True):
        assert dtype.split(".")[-1] == expected_dtype.split(".")[-1], key
        np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-9, err_msg=key)


def test_conjugated_parameters_are_refused_where_their_parts_are_asked() -> None:
    said = []
    for torch in (retrograd, real_torch):
        p = torch.nn.Parameter(torch.tensor([1 + 2j]).conj())
        (p * p.conj()).real.sum().backward()
        torch.optim.SGD([p], lr=0.1).step()
        with pytest.raises(RuntimeError, match="unresolved conjugated") as caught:
            torch.optim.Adam([p]).step()
        said.append((str(caught.value), p.tolist()))
    assert said[0][0] == said[1][0]
    np.testing.assert_allclose(said[0][1], said[1][1])
