# kind: broken-chain; symptom: the loss stops falling after the first epoch; names: item
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ELU(), torch.nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)


def penalised(loss):
    size = sum(p.norm() for p in net.parameters())
    return loss + 1e-3 * size  #! return torch.tensor(loss.item() + 1e-3 * size.item(), requires_grad=True)


for epoch in range(3):
    for x in torch.randn(12, 4).split(4):
        loss = (net(x) - x[:, :1]).pow(2).mean()
        if epoch:
            loss = penalised(loss)
        if len(x) == 0:
            loss = torch.tensor(0.0, requires_grad=True)
        opt.zero_grad()
        loss.backward()
        opt.step()
