# kind: hook-mutates-grad; symptom: the residual branch is normalised as well; names: Normalise, g = g / (g.norm() + 1e-06)
import torch


class Normalise:
    def scaled(self, g):
        g = g / (g.norm() + 1e-6)  #! g /= g.norm() + 1e-6
        return g

    def __call__(self, grad):
        return self.scaled(grad)  #! self.scaled(grad)


w = torch.ones(3, requires_grad=True)
h = w * 2.0
z = h * h
z.register_hook(Normalise())
loss = ((z + h) ** 2).sum()
loss.backward()
