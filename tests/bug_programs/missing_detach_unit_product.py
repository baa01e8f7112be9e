# kind: missing-detach; symptom: all embeddings become the same; names: target, detach
import torch

torch.manual_seed(0)
online, predictor = torch.randn(6, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)
opt = torch.optim.SGD([online, predictor], lr=0.1)
unit = torch.nn.functional.normalize
for step in range(3):
    x = torch.randn(16, 6)
    p = unit(torch.tanh((x + 0.1 * torch.randn(16, 6)) @ online) @ predictor, dim=1)
    target = unit(torch.tanh((x + 0.1 * torch.randn(16, 6)) @ online), dim=1)
    loss = (2 - 2 * (p * target.detach()).sum(1)).mean()  #! loss = (2 - 2 * (p * target).sum(1)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
