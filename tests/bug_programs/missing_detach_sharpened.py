# kind: missing-detach; symptom: all classes become one; names: target
import torch

torch.manual_seed(0)
data = torch.randn(24, 6)
label = (data[:, 0] > 0).long()
w1 = (torch.randn(6, 12) * 0.4).requires_grad_()
w2 = (torch.randn(12, 3) * 0.4).requires_grad_()


def network(x):
    return torch.tanh(x @ w1) @ w2


for step in range(3):
    logits = network(data)
    target = torch.softmax(logits.detach() / 0.5, 1)  #! target = torch.softmax(logits / 0.5, 1)
    noisy = torch.log_softmax(network(data + 0.1 * torch.randn(24, 6)), 1)
    consistency = torch.nn.functional.kl_div(noisy, target, reduction="batchmean")
    loss = torch.nn.functional.cross_entropy(logits, label) + consistency
    loss.backward()
    with torch.no_grad():
        for p in (w1, w2):
            p -= 0.1 * p.grad
            p.grad = None
