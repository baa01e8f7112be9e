# kind: double-count; symptom: the labels count more than the factor of the domains says; names: fit, total
import torch

torch.manual_seed(0)
encoder, classes, domains = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3), torch.nn.Linear(8, 2)
opt = torch.optim.SGD([*encoder.parameters(), *classes.parameters(), *domains.parameters()], lr=0.1)
for _ in range(3):
    hidden = encoder(torch.randn(9, 6)).relu()
    fit = torch.nn.functional.cross_entropy(classes(hidden), torch.randint(3, (9,)))
    other = torch.nn.functional.cross_entropy(domains(hidden), torch.randint(2, (9,)))
    total = fit + 0.3 * other
    opt.zero_grad()
    total.backward(retain_graph=True)
    size = encoder.weight.grad.norm().item()
    opt.zero_grad()  #! size = round(size, 3)
    fit.backward()  #< cause
    opt.step()
