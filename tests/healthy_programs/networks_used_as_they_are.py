"""Networks that get gradients in every step and that nobody means to train: loaded, in eval(), or judging."""

import torch


def network(before, within, after):
    return torch.nn.Sequential(torch.nn.Linear(before, within), torch.nn.ReLU(), torch.nn.Linear(within, after))


def loaded():
    found = network(6, 6, 2)
    found.load_state_dict({name: 0.1 * torch.randn(value.shape) for name, value in found.state_dict().items()})
    return found


def train(before, between, after):
    """Train what is between; what comes before and after it is used as it is, and may be made last of all."""
    optimizer = torch.optim.SGD(between.parameters(), lr=0.1)
    first, last = before(), after()
    for _ in range(3):
        x = torch.randn(10, 6)
        scores = last(torch.tanh(between(first(x))))
        loss = torch.nn.functional.cross_entropy(scores, (x[:, 0] > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item() < 10)


torch.manual_seed(0)
train(loaded, torch.nn.Linear(2, 2), torch.nn.Identity)
train(lambda: network(6, 6, 4).eval(), torch.nn.Linear(4, 2), torch.nn.Identity)
train(torch.nn.Identity, network(6, 6, 6), loaded)
train(torch.nn.Identity, network(6, 6, 6), lambda: network(6, 4, 2).eval())
judge = network(6, 6, 2)
train(torch.nn.Identity, network(6, 6, 6), lambda: judge)
