# kind: missing-zero-grad; symptom: the second network learns by old gradients; names: second, opt_b.zero_grad()
import torch

torch.manual_seed(0)
first, second = torch.nn.Linear(4, 3), torch.nn.Linear(3, 1)
opt_a = torch.optim.SGD(first.parameters(), lr=0.1)
opt_b = torch.optim.SGD(second.parameters(), lr=0.1)
for _ in range(4):
    made = first(torch.randn(8, 4))
    opt_b.zero_grad()  #! opt_a.zero_grad()
    (second(made.detach()) - 1).square().mean().backward()
    opt_b.step()
    opt_a.zero_grad()
    (made - 2).square().mean().backward()
    opt_a.step()
