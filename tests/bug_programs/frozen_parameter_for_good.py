# kind: frozen-parameter; symptom: the judge learns in the first round only; names: judge.weight, requires_grad
import torch

torch.manual_seed(0)
maker, judge = torch.nn.Linear(3, 2), torch.nn.Linear(2, 1)
maker_opt = torch.optim.SGD(maker.parameters(), lr=0.1)
judge_opt = torch.optim.SGD(judge.parameters(), lr=0.1)
for turn in range(4):
    judge.requires_grad_(True)  #! pass
    judge_opt.zero_grad()
    gap = judge(maker(torch.randn(6, 3)).detach()).mean() - judge(torch.randn(6, 2) + 1).mean()
    if gap.requires_grad:
        gap.backward()
        judge_opt.step()
    judge.requires_grad_(False)  #< cause
    maker_opt.zero_grad()
    (-judge(maker(torch.randn(6, 3))).mean()).backward()
    maker_opt.step()
