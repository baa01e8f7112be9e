"""A small classifier of handwritten digits, trained by minibatch gradient descent on real data.

What to look for: one column of operations from the loss down to the pixels, with the four parameters
w1, b1, w2 and b2 hanging off it. The pictures need no gradient, so nothing leads to them. Each minibatch
has its own graph; what is drawn is the one of the last step.
"""

from pathlib import Path

import numpy as np

import retrograd as rg
from retrograd.nn import functional as F

DATA = Path(__file__).parent / "data" / "digits.csv.gz"
TRAINING_ROWS = 600
HIDDEN = 32
BATCH = 25

table = np.loadtxt(DATA, delimiter=",", dtype=np.float32)
pictures = rg.tensor(table[:, :-1] / 16)
labels = rg.tensor(table[:, -1].astype(np.int64))

rg.manual_seed(0)
w1 = (rg.randn(64, HIDDEN) * (2 / 64) ** 0.5).requires_grad_()
b1 = rg.zeros(HIDDEN, requires_grad=True)
w2 = (rg.randn(HIDDEN, 10) * (1 / HIDDEN) ** 0.5).requires_grad_()
b2 = rg.zeros(10, requires_grad=True)


def predict(pictures):
    """Scores of the ten digits for every picture."""
    hidden = rg.relu(pictures @ w1 + b1)
    return hidden @ w2 + b2


def build():
    """The loss of the classifier on the first minibatch."""
    return F.cross_entropy(predict(pictures[:BATCH]), labels[:BATCH])


@rg.no_grad()
def descend(rate):
    """One step against the gradient, which is then forgotten."""
    for parameter in (w1, b1, w2, b2):
        parameter -= rate * parameter.grad
        parameter.grad = None


def train_epoch(rate):
    """Go once through the training digits in a random order; returns the mean loss."""
    order = rg.randperm(TRAINING_ROWS)
    total = 0.0
    for start in range(0, TRAINING_ROWS, BATCH):
        rows = order[start : start + BATCH]
        scores = predict(pictures[rows])
        loss = F.cross_entropy(scores, labels[rows])
        loss.backward()
        total += loss.item() * BATCH
        descend(rate)
    return total / TRAINING_ROWS


def test_accuracy():
    """Share of the digits not trained on whose highest score is at their label."""
    with rg.no_grad():
        guesses = predict(pictures[TRAINING_ROWS:]).argmax(dim=1)
        return (guesses == labels[TRAINING_ROWS:]).float().mean().item()


if __name__ == "__main__":
    for epoch in range(1, 13):
        mean_loss = train_epoch(rate=0.3)
        print(f"epoch {epoch:2d}   loss {mean_loss:.3f}   test accuracy {test_accuracy():.1%}")
