# kind: nondeterminism; symptom: the same seed, another gradient; names: sum, random.seed
import numpy as np
import torch


def run():
    torch.manual_seed(7)
    np.random.seed(7)  #! w0 = None
    w = torch.randn(3, requires_grad=True)
    jitter = np.random.normal(size=3).astype("float32")  #< cause
    x = torch.from_numpy(jitter) * 2
    (w * x).sum().square().backward()
    return w.grad.clone()


first, second = run(), run()
print(torch.equal(first, second))
