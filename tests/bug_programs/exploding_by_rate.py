# kind: exploding; symptom: the error doubles and doubles; names: lr=2.5, weight, error
import torch


def fit(readings, truth, rounds):
    model = torch.nn.Linear(readings.shape[1], 1)
    mover = torch.optim.SGD(
        model.parameters(),
        lr=0.05,  #! lr=2.5,
    )
    for _ in range(rounds):
        error = (model(readings) - truth).square().mean()
        mover.zero_grad()
        error.backward()
        mover.step()
    return model


torch.manual_seed(2)
readings = torch.randn(40, 6)
fit(readings, readings.sum(1, keepdim=True), 12)
