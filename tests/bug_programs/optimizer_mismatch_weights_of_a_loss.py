# kind: optimizer-mismatch; symptom: the weights of the three errors stay one; names: trade, optimizer
import torch


class Balance(torch.nn.Module):
    def __init__(self, count):
        super().__init__()
        self.trade = torch.nn.Parameter(torch.ones(count))

    def forward(self, errors):
        return sum(w.square().reciprocal() * e + w.square().log() for w, e in zip(self.trade, errors, strict=True))


torch.manual_seed(0)
pump = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
balance = Balance(3)
learned = [*pump.parameters(), *balance.parameters()]
optimizer = torch.optim.Adam(learned, lr=0.01)  #! optimizer = torch.optim.Adam(pump.parameters(), lr=0.01)
for _ in range(5):
    x = torch.randn(16, 5)
    flow, head, power = pump(x).unbind(1)
    whole = balance([(flow - x[:, 0]).abs().mean(), (head - x[:, 1]).square().mean(), (power * x[:, 2]).exp().mean()])
    optimizer.zero_grad()
    whole.backward()
    optimizer.step()
