# kind: optimizer-mismatch; symptom: the encoder stays as it was; names: weight, learning rate, is 0 in all
import torch

torch.manual_seed(0)
model = torch.nn.ModuleDict({"encoder": torch.nn.Linear(4, 6), "head": torch.nn.Linear(6, 1)})
optimizer = torch.optim.Adam([
    {"params": model["encoder"].parameters(), "lr": 1e-4},  #! {"params": model["encoder"].parameters(), "lr": 0.0},
    {"params": model["head"].parameters(), "lr": 1e-3},
])
for step in range(4):
    x = torch.randn(8, 4)
    loss = (model["head"](torch.tanh(model["encoder"](x))) - x[:, :1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
