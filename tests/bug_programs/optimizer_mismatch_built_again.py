# kind: optimizer-mismatch; symptom: training after a restart changes nothing; names: optimizer, weight
import torch


def build():
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ELU(), torch.nn.Linear(8, 2))


def resumed(model, state):
    fresh = model  #! fresh = build()
    fresh.load_state_dict(state)
    return fresh


torch.manual_seed(0)
model = build()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
model = resumed(model, {name: value.clone() for name, value in model.state_dict().items()})
x, y = torch.randn(20, 4), torch.randn(20, 2)
for step in range(3):
    loss = (model(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
