# kind: unclipped-gradient; symptom: the norm that is printed is zero; names: read to its end, list
import torch


def fit(model, free, optimizer):
    for _ in range(4):
        x = 10 * torch.randn(8, 4)
        loss = (model(x).squeeze(1) - x.prod(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(free, max_norm=0.5)  #< cause
        optimizer.step()
    print(float(norm))


torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1))
model[0].bias.requires_grad_(False)
free = [p for p in model.parameters() if p.requires_grad]  #! free = (p for p in model.parameters() if p.requires_grad)
fit(model, free, torch.optim.SGD(free, lr=1e-4))
