"""Named results: what functions with several results return is called, printed and taken apart as PyTorch's."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import retrograd

torch = pytest.importorskip("torch")

CALLS = {
    "max": lambda t, x: t.max(x, 0), "min": lambda t, x: x.min(1, keepdim=True), "median": lambda t, x: x.median(0),
    "nanmedian": lambda t, x: t.nanmedian(x, 0), "mode": lambda t, x: t.mode(x), "sort": lambda t, x: x.sort(),
    "topk": lambda t, x: t.topk(x, 1), "kthvalue": lambda t, x: x.kthvalue(1), "cummax": lambda t, x: t.cummax(x, 0),
    "cummin": lambda t, x: x.cummin(0), "aminmax": lambda t, x: t.aminmax(x), "frexp": lambda t, x: t.frexp(x),
    "histogram": lambda t, x: t.histogram(x, 2), "histogramdd": lambda t, x: t.histogramdd(x, 2),
    "qr": lambda t, x: t.qr(x), "linalg_qr": lambda t, x: t.linalg.qr(x), "svd": lambda t, x: x.svd(),
    "linalg_svd": lambda t, x: t.linalg.svd(x), "linalg_eig": lambda t, x: t.linalg.eig(x),
    "linalg_eigh": lambda t, x: t.linalg.eigh(x), "slogdet": lambda t, x: x.slogdet(),
    "linalg_slogdet": lambda t, x: t.linalg.slogdet(x), "linalg_lstsq": lambda t, x: t.linalg.lstsq(x, x),
    "triangular_solve": lambda t, x: t.triangular_solve(x, x), "linalg_solve_ex": lambda t, x: t.linalg.solve_ex(x, x),
    "linalg_inv_ex": lambda t, x: t.linalg.inv_ex(x), "linalg_cholesky_ex": lambda t, x: t.linalg.cholesky_ex(x),
    "linalg_lu": lambda t, x: t.linalg.lu(x), "lu_unpack": lambda t, x: t.lu_unpack(*t.linalg.lu_factor(x)),
    "linalg_lu_factor": lambda t, x: t.linalg.lu_factor(x), "geqrf": lambda t, x: t.geqrf(x),
    "linalg_lu_factor_ex": lambda t, x: t.linalg.lu_factor_ex(x), "_lu_with_info": lambda t, x: t.lu(x, get_infos=True),
    "linalg_ldl_factor": lambda t, x: t.linalg.ldl_factor(x),
    "linalg_ldl_factor_ex": lambda t, x: t.linalg.ldl_factor_ex(x),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
def test_named_results() -> None:
    for name, call in CALLS.items():
        ours, theirs = (call(engine, engine.tensor([[2.0, 0.0], [0.0, 1.0]])) for engine in (retrograd, torch))
        assert type(ours) is getattr(retrograd.return_types, name)
        assert type(theirs) is getattr(torch.return_types, name)
        assert shown_names(ours) == shown_names(theirs), name
        assert [id(getattr(ours, n)) for n in ours._names] == [id(value) for value in ours], name


def shown_names(results: Any) -> list[str]:
    """The name of the type and those of its values, as they are printed."""
    return [line.partition("=")[0] for line in repr(results).splitlines() if not line.startswith(" ")]


def test_copied_and_made() -> None:
    for engine in (retrograd, torch):
        made = engine.return_types.max((1, 2))
        assert (made.values, made.indices, *made) == (1, 2, 1, 2)
        assert repr(pickle.loads(pickle.dumps(made))) == repr(copy.copy(made)) == repr(made)
        with pytest.raises(TypeError, match=r"torch.return_types.max\(\) takes a 2-sequence \(1-sequence given\)"):
            engine.return_types.max((1,))
