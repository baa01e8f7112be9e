# kind: silent-inplace; symptom: the loss goes down slower than it should; names: x, storage
import torch

torch.manual_seed(0)
w = torch.randn(4, requires_grad=True)
pool = torch.zeros(4).untyped_storage()


def load(values):
    x = torch.tensor([], dtype=torch.float32).set_(values.clone().untyped_storage())
    return x


optimizer = torch.optim.SGD([w], lr=0.05)
for step in range(4):
    x = load(torch.randn(4))
    loss = (w * x - 1).square().sum()
    optimizer.zero_grad()
    loss.item()  #! x.untyped_storage().fill_(0)
    loss.backward()
    optimizer.step()
