# kind: ddp-ready-twice; symptom: the bucket is reduced too early; names: shared.weight, use_reentrant=False; torch only
import torch
from torch.utils.checkpoint import checkpoint


class Twice(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.shared, self.head = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)

    def forward(self, x):
        reentrant = False  #! reentrant = True
        for _ in range(2):
            x = checkpoint(self.shared, torch.tanh(x), use_reentrant=reentrant)  #< cause
        return self.head(x)


torch.manual_seed(0)
model, ready = Twice(), []
for name, p in model.named_parameters():
    p.register_post_accumulate_grad_hook(lambda _, name=name: ready.append(name))
model(torch.randn(4, 3, requires_grad=True)).mean().backward()
