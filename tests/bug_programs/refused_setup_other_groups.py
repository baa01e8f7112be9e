# kind: refused-setup; symptom: ValueError, the loaded state has another number of groups; names: later; torch only
import torch


def model():
    return torch.nn.Linear(3, 1)


old, new = model(), model()
saved = torch.optim.Adam(old.parameters(), lr=1e-3).state_dict()
parts = [{"params": [new.weight, new.bias]}]  #! parts = [{"params": [new.weight]}, {"params": [new.bias]}]
later = torch.optim.Adam(parts, lr=1e-3)
later.load_state_dict(saved)  #< cause
new(torch.ones(2, 3)).square().mean().backward()
later.step()
