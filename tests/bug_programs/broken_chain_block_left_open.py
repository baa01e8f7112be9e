# kind: broken-chain; symptom: element 0 of tensors does not require grad, after the first batch; names: no_grad
import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
rows = torch.randn(12, 3)


def batches():
    for start in range(0, 12, 4):
        mean = rows[: start + 4].mean(0)  #! block = torch.no_grad()
        spread = rows[: start + 4].std(0)  #! block.__enter__()  #< cause
        yield (rows[start : start + 4] - rows[: start + 4].mean(0)) / rows[: start + 4].std(0)


for batch in batches():
    optimizer.zero_grad()
    try:
        net(batch).square().mean().backward()
    finally:
        torch.set_grad_enabled(True)
    optimizer.step()
