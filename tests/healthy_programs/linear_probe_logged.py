import torch

torch.manual_seed(0)
model = torch.nn.ModuleDict({"body": torch.nn.Linear(3, 3), "head": torch.nn.Linear(3, 1)})
optimizer = torch.optim.SGD(model["head"].parameters(), lr=0.1)

for step in range(3):
    with torch.no_grad():
        features = model["body"](torch.randn(4, 3))
    loss = model["head"](features).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    squares = [p.grad.norm() ** 2 for p in model.parameters() if p.grad is not None]  # the body has none, as it should
    print(step, sum(squares).sqrt().item())
    optimizer.step()
