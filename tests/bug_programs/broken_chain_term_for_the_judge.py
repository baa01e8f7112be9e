# kind: broken-chain; symptom: pictures come out as means of the data; names: maker
import torch

F = torch.nn.functional


def forget(network):
    for p in network.parameters():
        p.grad = None


torch.manual_seed(0)
maker = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
judge = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
of_maker, of_judge = torch.optim.Adam(maker.parameters()), torch.optim.Adam(judge.parameters())
for _ in range(5):
    noise, real = torch.randn(6, 3), torch.randn(6, 4)
    made = maker(noise)
    shown = made.detach()
    forget(maker)
    seen = judge(made)  #! seen = judge(shown)
    total = F.softplus(-seen).mean() + F.l1_loss(made, real)
    total.backward()
    of_maker.step()
    forget(judge)
    (F.softplus(-judge(real)).mean() + F.softplus(judge(shown)).mean()).backward()
    of_judge.step()
