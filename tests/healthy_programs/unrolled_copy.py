import copy

import torch

torch.manual_seed(4)
model = torch.nn.Linear(3, 2)
mixing = torch.zeros(2, requires_grad=True)
weights = torch.optim.SGD(model.parameters(), lr=0.1)
architecture = torch.optim.Adam([mixing], lr=0.01)
x, y = torch.randn(8, 3), torch.randn(8, 2)
for step in range(3):
    unrolled = copy.deepcopy(model)  # looks one step ahead; asked for derivatives, never trained
    mixed = mixing.detach().clone().requires_grad_()
    torch.nn.functional.mse_loss(unrolled(x) * mixed.softmax(0), y).backward()
    ahead = [p.grad for p in unrolled.parameters()]
    mixing.grad = mixed.grad - 0.1 * ahead[1].norm()
    architecture.step()
    weights.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x) * mixing.detach().softmax(0), y)
    loss.backward()
    weights.step()
    print(step, bool(loss > 0))
