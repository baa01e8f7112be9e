# kind: dead-relu; symptom: predictions are zero for ever; names: relu, inactive
import torch

torch.manual_seed(0)
w = torch.rand(3, 1, requires_grad=True)
x = torch.rand(10, 3)


def predict(batch):
    return torch.relu(batch @ w)  #! return torch.relu(batch @ w - 9.0)


loss = (predict(x) - 1.0).pow(2).mean()
loss.backward()
