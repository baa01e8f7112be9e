# kind: freed-graph; symptom: the second epoch raises; names: self.weight, anew
import torch


class LowRank(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.left = torch.nn.Parameter(torch.randn(size, 2))
        self.right = torch.nn.Parameter(torch.randn(2, size))
        self.weight = torch.tanh(self.left @ self.right)  #< cause

    def forward(self, x):
        self.weight = torch.tanh(self.left @ self.right)  #! pass
        return x @ self.weight


torch.manual_seed(0)
model = LowRank(4)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    loss = model(torch.randn(5, 4)).pow(2).mean()
    loss.backward()
    opt.step()
