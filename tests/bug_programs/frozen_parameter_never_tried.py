# kind: frozen-parameter; symptom: accuracy stays at chance, nothing is raised; names: 4 parameters, p.requires_grad_(True)
import torch


def freeze(module):
    for p in module.parameters():
        p.requires_grad = False  #< cause


torch.manual_seed(0)
net = torch.nn.ModuleDict({"trunk": torch.nn.Linear(8, 8), "head": torch.nn.Linear(8, 3)})
freeze(net["trunk"])  #! freeze(net)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(12, 8), torch.randint(0, 3, (12,))
for epoch in range(3):
    loss = torch.nn.functional.cross_entropy(net["head"](net["trunk"](x)), y)
    opt.zero_grad()
    if loss.requires_grad:
        loss.backward()
    opt.step()
