# kind: nonleaf-grad; symptom: the scale stays at its first value; names: t
import torch


class Scale:
    def __init__(self, dtype):
        t = torch.ones(3, requires_grad=True)
        self.t = t.to("cpu").to(dtype).detach().requires_grad_()  #! self.t = t.to("cpu").to(dtype)

    def __call__(self, logits):
        return logits / self.t


torch.manual_seed(0)
scale = Scale(torch.float64)
logits, labels = torch.randn(20, 3, dtype=torch.float64), torch.randint(0, 3, (20,))
for _ in range(3):
    loss = torch.nn.functional.nll_loss(torch.log_softmax(scale(logits), 1), labels)
    loss.backward()
    if scale.t.grad is not None:  #< cause
        with torch.no_grad():
            scale.t -= 0.1 * scale.t.grad
            scale.t.grad.zero_()
