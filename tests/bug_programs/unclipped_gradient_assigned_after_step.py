# kind: unclipped-gradient; symptom: weights jump; names: gain, shift, rule.step()
import torch

torch.manual_seed(0)
gain, shift = torch.ones(3, requires_grad=True), torch.zeros(3, requires_grad=True)
rule = torch.optim.Adam([gain, shift], lr=0.1)


def shorten():
    for one in (gain, shift):
        longest = one.grad.abs().amax()
        one.grad = one.grad / torch.clamp(longest, min=0.5)  #< cause


for _ in range(4):
    rule.zero_grad()
    (torch.randn(6, 3) * gain + shift - 7.0).square().sum().backward()
    shorten()  #! pass
    rule.step()
    pass  #! shorten()
