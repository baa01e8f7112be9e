import torch

torch.manual_seed(0)
model = torch.nn.ModuleDict({"encoder": torch.nn.Linear(4, 6), "head": torch.nn.Linear(6, 2)})
optimizer = torch.optim.SGD(
    [{"params": model["head"].parameters()}, {"params": model["encoder"].parameters(), "lr": 0.0}], lr=0.1
)
for epoch in range(3):
    if epoch == 2:  # the encoder thaws once the head has found its feet
        optimizer.param_groups[1]["lr"] = 0.01
    for batch in range(2):
        x = torch.randn(8, 4)
        labels = (x[:, 0] > 0).long()
        loss = torch.nn.functional.cross_entropy(model["head"](torch.tanh(model["encoder"](x))), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

line = torch.nn.Linear(3, 1)
warming = torch.optim.AdamW(line.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.LambdaLR(warming, lambda step: min(1.0, step / 2))
for step in range(4):
    x = torch.randn(8, 3)
    loss = (line(x) - x.sum(1, keepdim=True)).pow(2).mean()
    warming.zero_grad()
    loss.backward()
    warming.step()
    schedule.step()
print("trained:", bool(line.weight.grad.abs().sum() > 0))
