# kind: optimizer-mismatch; symptom: the loss stands still after the second epoch; names: learning rate, is 0 in the last 6 of 8
import torch

torch.manual_seed(0)
filters = torch.nn.Parameter(torch.randn(2, 1, 3) * 0.1)
optimizer = torch.optim.SGD([filters], lr=0.05)
for epoch in range(4):
    for group in optimizer.param_groups:
        group["lr"] = 0.05 * 0.5**epoch  #! group["lr"] = 0.05 * (epoch < 1)
    for _ in range(2):
        sound = torch.randn(4, 1, 16)
        loss = (torch.nn.functional.conv1d(sound, filters).sum(1) - sound[:, 0, 1:-1]).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
