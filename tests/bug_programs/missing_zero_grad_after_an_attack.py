# kind: missing-zero-grad; symptom: robust training does worse than plain training; names: optimizer.step, shift.grad
import torch

F = torch.nn.functional


def attacked(net, x, label):
    shift = torch.zeros_like(x)
    for _ in range(2):
        shift.requires_grad_(True)
        F.cross_entropy(net(x + shift), label).backward()  #< cause
        shift = (shift + 0.05 * shift.grad.sign()).clamp(-0.1, 0.1).detach()
    return x + shift


torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    x, label = torch.randn(9, 4), torch.randint(3, (9,))
    optimizer.zero_grad()
    worst = attacked(net, x, label)
    optimizer.zero_grad()  #! pass
    loss = F.cross_entropy(net(worst), label)
    loss.backward()
    optimizer.step()
