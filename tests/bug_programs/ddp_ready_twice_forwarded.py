# kind: ddp-ready-twice; symptom: reduced twice; names: fires twice, weight
import torch


class Reducer:
    def __init__(self, values):
        self.pending = set(values)
        for name, value in values.items():
            value.register_post_accumulate_grad_hook(lambda p, name=name: self.reduce(name, p))

    def reduce(self, name, p):
        if name not in self.pending:
            raise RuntimeError(f"{name} was reduced twice")
        self.pending.discard(name)


torch.manual_seed(0)
weight = torch.randn(3, 2, requires_grad=True)
reducer = Reducer({"weight": weight})
x = torch.randn(8, 3)
for part in [x]:  #! for part in x.chunk(2):
    (part @ weight).square().mean().backward()  #< cause
