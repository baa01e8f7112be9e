"""Samples of losses, similarities and distances."""

from __future__ import annotations

import numpy as np
from op_samples import Const, Sample, bools, calls, ints, program, real

NN = "nn.functional."
X, Y = real(3, 4), real(3, 4, start=1)
P, Q = real(3, 4, lo=0.05, hi=0.95), real(3, 4, lo=0.05, hi=0.95, start=2)
SIGNS = Const(np.where(bools(3, 4), 1.0, -1.0))
ROW_SIGNS = Const(np.where(bools(3), 1.0, -1.0))
REDUCTIONS = ({}, {"reduction": "sum"}, {"reduction": "none"})


def loss(name: str, *args: object, note: str = "", **facts: object) -> list[Sample]:
    """A loss with every reduction."""
    return [
        Sample(NN + name, args, dict(how), note=f"{note} {how.get('reduction', 'mean')}".strip(), **facts)
        for how in REDUCTIONS
    ]


def more(name: str, *argument_lists: object, **facts: object) -> list[Sample]:
    """A loss with further arguments."""
    return calls(NN + name, *argument_lists, note="more", **facts)


CLASSES, ROWS = real(4, 3), ints(4, lo=0, hi=3)
IMAGE, PIXELS = real(2, 3, 2, 2), ints(2, 2, 2, lo=0, hi=3)
WEIGHT = Const(real(3, lo=0.2, hi=1.0))
IGNORING = np.array([0, -100, 2, 1])

CLASSIFYING = [
    *loss("nll_loss", CLASSES, ROWS),
    *loss("nll_loss", IMAGE, PIXELS, note="2d"),
    *loss("nll_loss", real(2, 3, 4), ints(2, 4, lo=0, hi=3), note="1d"),
    *loss("cross_entropy", CLASSES, ROWS),
    *loss("cross_entropy", IMAGE, PIXELS, note="2d"),
    *loss("cross_entropy", CLASSES, real(4, 3, lo=0, hi=1, start=1), note="soft", node=False),
    *more("nll_loss", [real(3), np.array(1)], [CLASSES, ROWS, WEIGHT], [CLASSES, IGNORING],
          [CLASSES, ROWS, WEIGHT, {"ignore_index": 1}], [CLASSES, IGNORING, {"reduction": "none"}],
          [CLASSES, ROWS, WEIGHT, {"reduction": "sum"}]),
    *more("cross_entropy", [real(3), np.array(1)], [CLASSES, ROWS, WEIGHT], [CLASSES, IGNORING],
          [CLASSES, ROWS, {"label_smoothing": 0.1}], [CLASSES, ROWS, WEIGHT, {"label_smoothing": 0.2}],
          [CLASSES, IGNORING, {"label_smoothing": 0.1, "reduction": "none"}],
          [CLASSES, IGNORING, {"label_smoothing": 0.1, "reduction": "sum"}],
          [CLASSES, real(4, 3, lo=0, hi=1), WEIGHT], [CLASSES, real(4, 3, lo=0, hi=1), {"label_smoothing": 0.3}],
          [real(3), real(3, lo=0, hi=1, start=2)], [IMAGE, real(2, 3, 2, 2, lo=0, hi=1, start=1)], node=False),
]  # fmt: skip

COMPARING = [
    *[s for n in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss") for s in loss(n, X, Y)],
    *[s for n in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss") for s in loss(n, X, real(4), note="spread")],
    *more("mse_loss l1_loss smooth_l1_loss huber_loss".replace(" ", " " + NN), [real(), real(start=1)],
          [X, X.copy()], [real(3), Const(real(3, start=1))]),
    *more("mse_loss", [X, Y, {"weight": Const(P)}]),
    *more("mse_loss", [np.zeros((0, 2)), np.zeros((0, 2))], forward=False),
    *more("l1_loss huber_loss".replace(" ", " " + NN), [X, Y, {"weight": Const(P)}]),
    *more("smooth_l1_loss", [X, Y, {"beta": 0.3}], [X, Y, {"beta": 0.0}], [X, Y, {"beta": 2.5, "reduction": "sum"}]),
    *more("huber_loss", [X, Y, {"delta": 0.3}], [X, Y, "sum", 1.7]),
    *loss("soft_margin_loss", X, SIGNS),
    *loss("binary_cross_entropy", P, Q),
    *more("binary_cross_entropy", [P, Const(Q), Const(real(4, lo=0.2, hi=1))], [P, Q, {"weight": Const(Q), "reduction": "sum"}]),
    *more("binary_cross_entropy", [np.array([0.0, 1.0, 0.5]), Const(np.array([0.0, 1.0, 1.0]))], second=False,
          forward=False),
    *loss("binary_cross_entropy_with_logits", X, Q),
    *more("binary_cross_entropy_with_logits", [X, Q, Const(real(4, lo=0.2))], [X * 50, Const(P)],
          [X, Q, {"pos_weight": Const(real(4, lo=0.5, hi=3))}],
          [X, Q, Const(P), {"pos_weight": Const(real(4, lo=0.5, hi=3)), "reduction": "none"}]),
    *loss("kl_div", X, Q),
    *more("kl_div", [X, Q, {"reduction": "batchmean"}], [X, Y, {"log_target": True}],
          [X, Const(np.zeros((3, 4))), {"reduction": "sum"}]),
    *loss("poisson_nll_loss", X, Q),
    *more("poisson_nll_loss", [X, Const(real(3, 4, lo=0, hi=4)), {"full": True}], [P, Q, False],
          [P, real(3, 4, lo=0.1, hi=4), {"log_input": False, "full": True, "reduction": "sum"}]),
    *loss("gaussian_nll_loss", X, Y, P),
    *more("gaussian_nll_loss", [X, Y, real(3, 1, lo=0.2, hi=1)], [X, Y, real(3, lo=0.2, hi=1), True],
          [X, Y, np.zeros((3, 4)), {"eps": 0.1}], [X, Y, 0.5]),
    *loss("hinge_embedding_loss", X, SIGNS),
    *more("hinge_embedding_loss", [X, SIGNS, 0.3], [X, Const(ints(3, 4))]),
]  # fmt: skip

LISTS = Const(np.array([[1, 2, -1, 0], [0, -1, 1, 1], [-1, 2, 3, 0]]))
MARGINS = [
    *loss("margin_ranking_loss", real(5), real(5, start=1), Const(np.where(bools(5), 1.0, -1.0))),
    *more("margin_ranking_loss", [X, Y, SIGNS, 0.5]),
    *loss("multi_margin_loss", CLASSES, ROWS),
    *more("multi_margin_loss", [real(3), np.array(2)], [CLASSES, ROWS, 2], [CLASSES, ROWS, 1, 0.5, WEIGHT],
          [CLASSES, ROWS, {"p": 2, "weight": WEIGHT, "reduction": "none"}]),
    *loss("multilabel_margin_loss", X, LISTS),
    *more("multilabel_margin_loss", [real(4), Const(np.array([3, 0, -1, 1]))]),
    *loss("multilabel_soft_margin_loss", X, Const(bools(3, 4).astype(float))),
    *more("multilabel_soft_margin_loss", [X, Const(bools(3, 4).astype(float)), Const(real(4, lo=0.1))]),
    *loss("cosine_embedding_loss", X, Y, ROW_SIGNS),
    *more("cosine_embedding_loss", [real(4), real(4, start=1), Const(np.array(-1.0)), -0.9], [X, Y, ROW_SIGNS, 0.2]),
    *loss("triplet_margin_loss", X, Y, real(3, 4, start=2)),
    *more("triplet_margin_loss", [X, Y, real(3, 4, start=2), {"p": 1, "margin": 2.0}],
          [X, Y, real(3, 4, start=2), {"swap": True}], [real(4), real(4, start=1), real(4, start=2)]),
    *loss("triplet_margin_with_distance_loss", X, Y, real(3, 4, start=2)),
]  # fmt: skip

LOGS = real(6, 2, 4) - 2.0
FIRST_ORDER = {"second": False, "forward": False}
"""PyTorch has no derivative of the gradient of this loss, and no forward mode."""
CTC = [
    program("ctc", lambda torch, x: torch.nn.functional.ctc_loss(
        x.log_softmax(2), torch.tensor([[1, 2, 2], [3, 1, 0]]), (6, 5), (3, 2)), LOGS, **FIRST_ORDER),
    program("ctc sum", lambda torch, x: torch.nn.functional.ctc_loss(
        x.log_softmax(2), torch.tensor([1, 2, 2, 3, 1]), torch.tensor([6, 5]), torch.tensor([3, 2]),
        reduction="sum"), LOGS, **FIRST_ORDER),
    program("ctc none, other blank", lambda torch, x: torch.nn.functional.ctc_loss(
        x.log_softmax(2), torch.tensor([[1, 2, 0], [1, 1, 0]]), (6, 6), (3, 2), blank=3, reduction="none"), LOGS, **FIRST_ORDER),
    program("ctc impossible", lambda torch, x: torch.nn.functional.ctc_loss(
        x.log_softmax(2), torch.tensor([[1, 1, 1], [3, 1, 2]]), (3, 5), (3, 3), zero_infinity=True), LOGS, **FIRST_ORDER),
    program("ctc one", lambda torch, x: torch.nn.functional.ctc_loss(
        x.log_softmax(1), torch.tensor([1, 2]), torch.tensor(6), torch.tensor(2)), real(6, 4), **FIRST_ORDER),
    *more("ctc_loss", [LOGS, Const(np.array([[1, 2], [3, 3]])), (6, 4), (2, 2)], [LOGS, Const(np.array([1])), (2, 0), (1, 0), 3, "sum"],
          [LOGS, Const(np.array([[1, 1], [2, 0]])), (2, 6), (2, 1), {"zero_infinity": True, "reduction": "none"}], **FIRST_ORDER),
]  # fmt: skip

DISTANCES = [
    *more("cosine_similarity", [X, Y], [X, Y, 0], [X, real(4)], [real(4), real(4, start=1), -1],
          [real(2, 3, 4), real(3, 4, start=1), {"dim": -1}]),
    *calls("cosine_similarity pairwise_distance", [X, Y]),
    *more("pairwise_distance", [X, Y], [X, Y, 1], [X, Y, 3.0], [X, real(4)], [X, Y, {"keepdim": True}],
          [X, Y, float("inf")]),
    *calls("cdist", [X, real(5, 4, start=1)], [X, real(5, 4, start=1), 1.0], [X, real(5, 4, start=1), 3.0],
           [X**3, real(5, 4, start=1) ** 2, float("inf")], [real(2, 3, 4), real(2, 2, 4, start=1)],
           [real(2, 1, 3, 2), real(3, 2, 2, start=1) ** 2], [X, real(5, 4, start=1), 0.0], [X, real(5, 4, start=1), 1.5]),
    *calls("cdist", [X, X[:2].copy()], note="equal rows", second=False),
    *calls("pdist nn.functional.pdist", [X], [X, 1.0], [X, 3.0], [X**3, float("inf")], [real(1, 3)]),
    *more("normalize", [X], [X, 1.0], [X, {"dim": 0}], [X, 3.0, -1], [real(2, 3, 2), 2.0, 1]),
    *more("cosine_similarity", [np.zeros((2, 3)), real(2, 3)], second=False),
    *more("normalize", [np.zeros((2, 3))], second=False),
]  # fmt: skip

OUTSIDE = [
    *calls("binary_cross_entropy_with_logits", [X, Q], [X, Q, Const(P), None, 2]),
    *calls("cosine_embedding_loss", [X, Y, ROW_SIGNS], [X, Y, ROW_SIGNS, 0.2, 0]),
    *calls("hinge_embedding_loss", [X, SIGNS], [X, SIGNS, 0.3, 2]),
    *calls("kl_div", [X, Q], [X, Q, 2], [X, Q, {"log_target": True}]),
    *calls("margin_ranking_loss", [X, Y, SIGNS], [X, Y, SIGNS, 0.5, 0]),
    *calls("poisson_nll_loss", [X, Const(Q), True, False, 1e-8, 1]),
    *calls("triplet_margin_loss", [X, Y, real(3, 4, start=2)], [X, Y, real(3, 4, start=2), 2.0, 1, 1e-6, True, 2]),
    *calls("is_nonzero", [Const(real())]),
    *calls("is_same_size is_signed is_conj is_neg", [Const(X)], variants=False)[1:],
]  # fmt: skip

SAMPLES: list[Sample] = [*OUTSIDE, *CLASSIFYING, *COMPARING, *MARGINS, *CTC, *DISTANCES]
