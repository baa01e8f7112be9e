"""Connectionist temporal classification: sums over all alignments, by recursion over time, in logarithms.

A. Graves et al., ICML 2006.  Labels stand with blanks between and around them: ``N x (2 S + 1)`` places.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def label_rows(numbers: Any, lengths: Any, blank: int) -> Any:
    """Targets (a row each, or joined in one row) with blanks between and around, padded with blanks."""
    rows = np.full((len(lengths), 2 * int(lengths.max(initial=0)) + 1), blank, np.int64)
    start = 0
    for i, n in enumerate(lengths):
        rows[i, 1 : 2 * n : 2] = numbers[start : start + n] if numbers.ndim == 1 else numbers[i, :n]
        start += int(n)
    return rows


def _may_skip(labels: Any, blank: int) -> Any:
    """Where a label may follow the one before the blank: everywhere, unless they are equal."""
    skips = np.zeros(labels.shape, bool)
    skips[:, 2:] = (labels[:, 2:] != blank) & (labels[:, 2:] != labels[:, :-2])
    return skips


def _shifted(scores: Any, by: int, allowed: Any = None) -> Any:
    """Scores moved to later places; impossible where nothing comes, or where it is not allowed."""
    out = np.full_like(scores, -np.inf)
    out[:, by:] = scores[:, : scores.shape[1] - by]
    return out if allowed is None else np.where(allowed, out, -np.inf)


def _at_labels(logs: Any, labels: Any) -> Any:
    """The log probability of each place's label at each time: T x N x places."""
    return np.take_along_axis(logs, np.broadcast_to(labels, (logs.shape[0], *labels.shape)), 2)


def forward_scores(logs: Any, labels: Any, lengths: Any, blank: int) -> Any:
    """Log probability of all beginnings of alignments that are at a place at a time: T x N x places."""
    said, skips = _at_labels(logs, labels), _may_skip(labels, blank)
    places = np.arange(labels.shape[1])
    alpha = np.full((said.shape[1], said.shape[0], said.shape[2]), -np.inf, logs.dtype).swapaxes(0, 1)
    for t in range(len(said)):
        if t:
            came = np.logaddexp(np.logaddexp(alpha[t - 1], _shifted(alpha[t - 1], 1)),
                                _shifted(alpha[t - 1], 2, skips))  # fmt: skip
            alpha[t] = came + said[t]
        else:
            alpha[0] = np.where((places < 2) & (places <= 2 * lengths[:, None]), said[0], -np.inf)
    return alpha


def log_likelihoods(alpha: Any, steps: Any, lengths: Any) -> Any:
    """Log probability of each row of labels after its number of steps; without steps only no labels are possible."""
    rows, last = np.arange(len(steps)), np.maximum(steps - 1, 0)
    ends = alpha[last, rows, 2 * lengths] if len(alpha) else np.full(len(rows), -np.inf, alpha.dtype)
    if alpha.shape[2] > 1 and len(alpha):
        at_label = alpha[last, rows, np.maximum(2 * lengths - 1, 0)]
        ends = np.where(lengths > 0, np.logaddexp(ends, at_label), ends)
    return np.where(steps > 0, ends, np.where(lengths == 0, 0, -np.inf)).astype(alpha.dtype)


def backward_scores(logs: Any, labels: Any, steps: Any, lengths: Any, blank: int) -> Any:
    """Log probability of all ends of alignments that are at a place at a time: T x N x places."""
    said, skips = _at_labels(logs, labels), _may_skip(labels, blank)
    places = np.arange(labels.shape[1])
    at_end = (places == 2 * lengths[:, None]) | (places == 2 * lengths[:, None] - 1)
    allowed = np.zeros(labels.shape, bool)
    allowed[:, :-2] = skips[:, 2:]
    beta = np.full(said.shape, -np.inf, logs.dtype)
    for t in range(len(said) - 1, -1, -1):
        ends = np.where(at_end & (t == steps - 1)[:, None], said[t], -np.inf)
        if t + 1 < len(said):
            after = beta[t + 1][:, ::-1]  # places from the last one, so that what comes next stands before
            goes = np.logaddexp(np.logaddexp(after, _shifted(after, 1)), _shifted(after, 2, allowed[:, ::-1]))[:, ::-1]
            ends = np.logaddexp(ends, np.where((t + 1 < steps)[:, None], goes + said[t], -np.inf))
        beta[t] = ends
    return beta


def by_class(scores: Any, labels: Any, classes: int) -> Any:
    """Log of the sum of the exponentials of the places that have the same label: T x N x classes."""
    out = np.full((*scores.shape[:2], classes), -np.inf, scores.dtype)
    rows = np.arange(labels.shape[0])
    for place in range(labels.shape[1]):
        at = labels[:, place]
        out[:, rows, at] = np.logaddexp(out[:, rows, at], scores[:, :, place])
    return out
