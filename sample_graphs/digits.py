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


def load():
    """The digits as (training pictures, training labels, test pictures, test labels)."""
    table = np.loadtxt(DATA, delimiter=",", dtype=np.float32)
    pictures = rg.tensor(table[:, :-1] / 16)
    labels = rg.tensor(table[:, -1].astype(np.int64))
    return (
        pictures[:TRAINING_ROWS],
        labels[:TRAINING_ROWS],
        pictures[TRAINING_ROWS:],
        labels[TRAINING_ROWS:],
    )


def make_parameters():
    """Two fully connected layers: 64 pixels to 32 features to 10 digits."""
    w1 = rg.randn(64, HIDDEN) * (2 / 64) ** 0.5
    b1 = rg.zeros(HIDDEN)
    w2 = rg.randn(HIDDEN, 10) * (1 / HIDDEN) ** 0.5
    b2 = rg.zeros(10)
    return [p.requires_grad_() for p in (w1, b1, w2, b2)]


def predict(pictures, w1, b1, w2, b2):
    """Scores of the ten digits for every picture."""
    hidden = rg.relu(pictures @ w1 + b1)
    return hidden @ w2 + b2


def accuracy(scores, labels):
    """Share of the pictures whose highest score is at their label."""
    return (scores.argmax(dim=1) == labels).float().mean().item()


def build():
    """The loss of an untrained classifier on one minibatch."""
    rg.manual_seed(0)
    pictures, labels, _, _ = load()
    w1, b1, w2, b2 = make_parameters()
    scores = predict(pictures[:25], w1, b1, w2, b2)
    return F.cross_entropy(scores, labels[:25])


def train(epochs=12, batch=25, rate=0.3):
    """Plain stochastic gradient descent; prints loss and accuracy of every epoch."""
    rg.manual_seed(0)
    pictures, labels, test_pictures, test_labels = load()
    w1, b1, w2, b2 = make_parameters()

    for epoch in range(1, epochs + 1):
        order = rg.randperm(TRAINING_ROWS)
        total = 0.0
        for start in range(0, TRAINING_ROWS, batch):
            rows = order[start : start + batch]
            scores = predict(pictures[rows], w1, b1, w2, b2)
            loss = F.cross_entropy(scores, labels[rows])
            loss.backward()
            total += loss.item() * batch
            with rg.no_grad():
                for parameter in (w1, b1, w2, b2):
                    parameter -= rate * parameter.grad
                    parameter.grad = None

        with rg.no_grad():
            share = accuracy(predict(test_pictures, w1, b1, w2, b2), test_labels)
        print(f"epoch {epoch:2d}   loss {total / TRAINING_ROWS:.3f}   test accuracy {share:.1%}")
    return share


if __name__ == "__main__":
    train()
