# kind: zero-gradient; symptom: features still tell the two domains apart; names: Reverse, parts
import torch


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.weight = weight
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -ctx.weight * grad, None


torch.manual_seed(0)
features, label, domain = torch.nn.Linear(4, 6), torch.nn.Linear(6, 3), torch.nn.Linear(6, 2)
parts = torch.nn.ModuleList([features, label, domain])
optimizer = torch.optim.SGD(parts.parameters(), lr=0.1)
for step in range(4):
    x, kind, half = torch.randn(8, 4), torch.randint(3, (8,)), torch.randint(2, (8,))
    found = torch.tanh(features(x))
    share = step / 4  #! share = step // 4
    turned = Reverse.apply(found, share)  #< cause
    loss = torch.nn.functional.cross_entropy(label(found), kind)
    loss = loss + torch.nn.functional.cross_entropy(domain(turned), half)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
