# kind: broken-chain; symptom: the learned threshold stays; names: limit, Soften, zeros; torch only
import torch


class Soften(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.save_for_backward(x, limit)
        return x.sign() * torch.relu(x.abs() - limit)

    @staticmethod
    def backward(ctx, grad):
        x, limit = ctx.saved_tensors
        kept = (x.abs() > limit).float()
        of_limit = -(grad * kept * x.sign()).sum(0)  #! of_limit = torch.zeros_like(limit)
        return grad * kept, of_limit  #< cause


class Coder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.analysis, self.synthesis = torch.nn.Linear(6, 12), torch.nn.Linear(12, 6)
        self.limit = torch.nn.Parameter(torch.full((12,), 0.1))

    def forward(self, x):
        return self.synthesis(Soften.apply(self.analysis(x), self.limit))


torch.manual_seed(0)
coder = Coder()
optimizer = torch.optim.SGD(coder.parameters(), lr=0.05)
for _ in range(3):
    x = torch.randn(9, 6)
    error = torch.nn.functional.mse_loss(coder(x), x)
    optimizer.zero_grad()
    error.backward()
    optimizer.step()
