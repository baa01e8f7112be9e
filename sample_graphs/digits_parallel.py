"""The digits again, trained on several processes that share every minibatch; alone it is the same program.

    mpirun -n 4 python digits_parallel.py          (or torchrun --nproc-per-node 4 digits_parallel.py)

What to look for: the graph is the one of a single process, with fewer rows. Each rank differentiates its own
rows; after backward() every rank holds the mean, which is the gradient of the whole minibatch.
"""

from pathlib import Path

import numpy as np

import retrograd as rg
from retrograd.nn import functional as F

DATA = Path(__file__).parent / "data" / "digits.csv.gz"
TRAINING_ROWS = 600
HIDDEN = 32
BATCH = 24  # the ranks share it evenly, so that the mean of their means is the mean

table = np.loadtxt(DATA, delimiter=",", dtype=np.float32)
pictures = rg.tensor(table[:, :-1] / 16)
labels = rg.tensor(table[:, -1].astype(np.int64))

rg.manual_seed(0)
parameters = {
    "w1": (rg.randn(64, HIDDEN) * (2 / 64) ** 0.5).requires_grad_(),
    "b1": rg.zeros(HIDDEN, requires_grad=True),
    "w2": (rg.randn(HIDDEN, 10) * (1 / HIDDEN) ** 0.5).requires_grad_(),
    "b2": rg.zeros(10, requires_grad=True),
}
ranks = rg.distributed.connect()
parallel = rg.distributed.DataParallel(parameters, ranks)


def predict(pictures):
    """Scores of the ten digits for every picture."""
    hidden = rg.relu(pictures @ parameters["w1"] + parameters["b1"])
    return hidden @ parameters["w2"] + parameters["b2"]


def loss_of(rows):
    """Mean loss over some rows."""
    return F.cross_entropy(predict(pictures[rows]), labels[rows])


def build():
    """This rank's loss on the first minibatch."""
    return loss_of(rg.arange(BATCH)[ranks.rank :: ranks.world_size])


@rg.no_grad()
def descend(rate):
    """One step against the gradient, the same on every rank."""
    for parameter in parameters.values():
        parameter -= rate * parameter.grad
        parameter.grad = None


def train_epoch(rate):
    """Go once through the training digits; returns the mean loss of this rank's rows."""
    order = rg.randperm(TRAINING_ROWS)
    total = 0.0
    for start in range(0, TRAINING_ROWS, BATCH):
        loss = loss_of(order[start : start + BATCH][ranks.rank :: ranks.world_size])
        loss.backward()
        total += loss.item() * BATCH
        descend(rate)
    return total / TRAINING_ROWS


def distance_from_whole_batch():
    """Largest difference between the reduced gradients and those of the whole first minibatch."""
    build().backward()
    reduced = [parameter.grad for parameter in parameters.values()]
    whole = rg.autograd.grad(loss_of(rg.arange(BATCH)), list(parameters.values()))
    for parameter in parameters.values():
        parameter.grad = None
    return max((mine - right).abs().max().item() for mine, right in zip(reduced, whole, strict=True))


def test_accuracy():
    """Share of the digits not trained on whose highest score is at their label."""
    with rg.no_grad():
        guesses = predict(pictures[TRAINING_ROWS:]).argmax(dim=1)
        return (guesses == labels[TRAINING_ROWS:]).float().mean().item()


if __name__ == "__main__":
    distance = distance_from_whole_batch()
    if ranks.rank == 0:
        print(f"{ranks.world_size} ranks   gradients differ from the whole batch's by at most {distance:.1e}")
    for epoch in range(1, 4):
        mean_loss = train_epoch(rate=0.3)
        if ranks.rank == 0:
            print(f"epoch {epoch}   loss {mean_loss:.3f}   test accuracy {test_accuracy():.1%}")
