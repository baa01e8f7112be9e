# kind: optimizer-mismatch; symptom: next to nothing is learned; names: self.opt, times 0.003
import torch


def decay(rate, half):
    def at(epoch):
        return 0.5 ** (epoch / half)  #! return rate * 0.5 ** (epoch / half)

    return at


class Fit:
    def __init__(self, rate):
        self.net = torch.nn.GRU(2, 4)
        self.opt = torch.optim.Adam(self.net.parameters(), rate)
        self.plan = torch.optim.lr_scheduler.LambdaLR(self.opt, lr_lambda=decay(rate, 4))  #< cause

    def epoch(self, x):
        self.opt.zero_grad()
        out, _ = self.net(x)
        out.square().mean().backward()
        self.opt.step()
        self.plan.step()


torch.manual_seed(0)
fit = Fit(0.003)
for _ in range(8):
    fit.epoch(torch.randn(3, 5, 2))
