# kind: graph-growth; symptom: every episode takes longer than the one before; names: logp[a], retain_graph
import torch

torch.manual_seed(0)
w = torch.randn(3, 2, requires_grad=True)
log_probs = []


def act(s):
    logp = torch.log_softmax(s @ w, -1)
    a = int(torch.multinomial(logp.detach().exp(), 1))
    log_probs.append(logp[a])  #< cause
    return a


for _ in range(6):
    log_probs.clear()  #! pass
    for _ in range(3):
        act(torch.randn(3))
    loss = -sum(log_probs) / len(log_probs)
    loss.backward(retain_graph=True)
    with torch.no_grad():
        w.sub_(w.grad, alpha=0.0)
    w.grad = None
