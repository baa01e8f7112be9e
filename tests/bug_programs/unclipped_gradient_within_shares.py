# kind: unclipped-gradient; symptom: some steps are far too long; names: clip_grad_norm_, tilt
import torch

torch.manual_seed(0)
tilt = torch.nn.Parameter(torch.ones(2))
optimizer = torch.optim.SGD([tilt], lr=0.1)
for _ in range(3):
    for share in torch.randn(3, 4, 2):
        pass  #! torch.nn.utils.clip_grad_norm_([tilt], 0.1)  #< cause
        (share @ tilt / 3).square().mean().backward()
    torch.nn.utils.clip_grad_norm_([tilt], 0.1)  #! pass
    optimizer.step()
    tilt.grad = None
