# kind: broken-chain; symptom: RuntimeError; names: judge, inference_mode; torch only
import torch
from torch import nn

torch.manual_seed(0)
painter, judge = nn.Linear(2, 3), nn.Linear(3, 1)
of_painter = torch.optim.SGD(painter.parameters(), lr=0.1)
of_judge = torch.optim.SGD(judge.parameters(), lr=0.1)
for _ in range(2):
    drawn = painter(torch.randn(8, 2))
    marks = judge(torch.randn(8, 3)), judge(drawn.detach())
    with torch.enable_grad():  #! with torch.inference_mode():  #< cause
        wrong = marks[1].mean() - marks[0].mean()
    of_judge.zero_grad()
    wrong.backward()
    of_judge.step()
    of_painter.zero_grad()
    judge(drawn).mean().neg().backward()
    of_painter.step()
