# kind: optimizer-mismatch; symptom: one of two members stays as it was drawn; names: second_opt, first_opt, never steps
import torch

torch.manual_seed(0)
first, second = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
first_opt = torch.optim.SGD(first.parameters(), lr=0.1)
second_opt = torch.optim.SGD(second.parameters(), lr=0.1)
for day in range(4):
    x = torch.randn(10, 3)
    y = x.prod(1, keepdim=True)
    first_opt.zero_grad()
    (first(x) - y).abs().mean().backward()
    first_opt.step()
    second_opt.zero_grad()
    (second(x) - y).square().mean().backward()
    second_opt.step()  #! first_opt.step()
