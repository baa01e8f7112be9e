# kind: optimizer-mismatch; symptom: the loss stays where it was; names: copies
import torch

torch.manual_seed(0)
layers = [torch.randn(4, 6, requires_grad=True), torch.randn(6, 1, requires_grad=True)]
own = [p.detach().clone().requires_grad_() for p in layers]  #< cause
optimizer = torch.optim.SGD(layers, lr=0.05)  #! optimizer = torch.optim.SGD(own, lr=0.05)
for step in range(4):
    x = torch.randn(10, 4)
    loss = (torch.tanh(x @ layers[0]) @ layers[1] - x[:, :1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
