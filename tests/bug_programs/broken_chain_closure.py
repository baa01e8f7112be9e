# kind: broken-chain; symptom: the temperature stays 1; names: log_t, float
import torch

torch.manual_seed(0)
logits, labels = 5 * torch.randn(40, 4), torch.randint(0, 4, (40,))
log_t = torch.zeros(1, requires_grad=True)
bias = torch.zeros(4, requires_grad=True)
optimizer = torch.optim.LBFGS([log_t, bias], lr=0.1, max_iter=4)


def closure():
    optimizer.zero_grad()
    t = log_t.exp()  #! t = float(log_t.exp().detach())
    loss = torch.nn.functional.cross_entropy(logits / t + bias, labels)
    loss.backward()
    return loss


optimizer.step(closure)
