# kind: underflow; symptom: the filter stays what it is; names: mul, taps, float16
import torch

torch.manual_seed(0)
taps = torch.randn(6, requires_grad=True)
shift = torch.zeros(1, requires_grad=True)


def volts(counts):
    small = counts.half()  #! small = counts.half() * 2e-9  #< cause
    return small.float()


for _ in range(3):
    counts = torch.randn(10, 6)
    heard = torch.mv(volts(counts), taps) + shift
    (heard - counts.mean(1)).square().sum().backward()
    with torch.no_grad():
        for one in (taps, shift):
            one.sub_(one.grad, alpha=0.01)
            one.grad = None
