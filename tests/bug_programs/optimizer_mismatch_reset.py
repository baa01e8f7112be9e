# kind: optimizer-mismatch; symptom: what was reset is not trained any more; names: params, optimizer
import torch

torch.manual_seed(0)
params = {"w": torch.randn(4, 1, requires_grad=True), "b": torch.zeros(1, requires_grad=True)}
optimizer = torch.optim.SGD(params.values(), lr=0.1)
with torch.no_grad():
    params["w"].zero_()  #! params["w"] = torch.zeros(4, 1, requires_grad=True)
for step in range(3):
    x = torch.randn(10, 4)
    optimizer.zero_grad()
    loss = (x @ params["w"] + params["b"] - 1).pow(2).mean()
    loss.backward()
    optimizer.step()
