# kind: broken-chain; symptom: the generator does not move; names: maker, detach
import torch

torch.manual_seed(0)
maker, judge = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(maker.parameters(), lr=0.1)
for _ in range(3):
    made = maker(torch.randn(6, 2)).clone()  #! made = maker(torch.randn(6, 2)).clone().detach_()
    loss = torch.nn.functional.softplus(-judge(made)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
