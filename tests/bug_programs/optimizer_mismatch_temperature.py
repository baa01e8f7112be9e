# kind: optimizer-mismatch; symptom: the temperature stays as it was set; names: log_scale, optimizer
import torch

torch.manual_seed(0)
image, text = torch.nn.Linear(8, 4), torch.nn.Linear(5, 4)
log_scale = torch.nn.Parameter(torch.tensor(1.0))
towers = [*image.parameters(), *text.parameters()]
opt = torch.optim.SGD([*towers, log_scale], lr=0.1)  #! opt = torch.optim.SGD(towers, lr=0.1)
for step in range(3):
    logits = image(torch.randn(6, 8)) @ text(torch.randn(6, 5)).t() * log_scale.exp()
    loss = torch.nn.functional.cross_entropy(logits, torch.arange(6))
    opt.zero_grad()
    loss.backward()
    opt.step()
