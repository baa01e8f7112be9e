# kind: frozen-parameter; symptom: the adapters never change, the head does; names: adapter, optimizer
import torch

nn = torch.nn


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.base = nn.Linear(d, d)
        self.adapter = nn.Linear(d, d, bias=False)

    def forward(self, x):
        return torch.tanh(self.base(x) + self.adapter(x))


def freeze(model):
    for name, p in model.named_parameters():
        p.requires_grad_("adapter" in name or "head" in name)  #! p.requires_grad_("adapters." in name or "head" in name)


torch.manual_seed(0)
model = nn.Sequential()
model.add_module("body", Block(4))
model.add_module("head", nn.Linear(4, 1))
freeze(model)
picked = [p for name, p in model.named_parameters() if "adapter" in name]
opt = torch.optim.SGD([{"params": picked}, {"params": list(model.head.parameters()), "lr": 0.01}], lr=0.1)
for _ in range(3):
    loss = (model(torch.randn(8, 4)) - 1.0).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
