# kind: missing-zero-grad; symptom: the discriminator gets weaker; names: judge_opt.step(), forged, judged
import torch

torch.manual_seed(0)
painter, judge = torch.nn.Linear(3, 5), torch.nn.Linear(5, 1)
painter_opt = torch.optim.SGD(painter.parameters(), lr=0.01)
judge_opt = torch.optim.SGD(judge.parameters(), lr=0.01)
softplus = torch.nn.functional.softplus
for step in range(4):
    picture = painter(torch.randn(6, 3))
    judge.requires_grad_(False)  #! pass
    forged = softplus(-judge(picture)).mean()
    forged.backward()  #< cause
    judge.requires_grad_(True)
    judged = softplus(judge(picture.detach())).mean() + softplus(-judge(torch.ones(6, 5))).mean()
    judged.backward()
    for one in (painter_opt, judge_opt):
        one.step()
        one.zero_grad()
