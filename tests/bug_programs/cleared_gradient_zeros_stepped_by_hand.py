# kind: cleared-gradient; symptom: the loss stays; names: backward, field
import torch

torch.manual_seed(0)
field = torch.nn.Parameter(torch.randn(4, 4))
rate = torch.tensor(0.3)
for _ in range(4):
    loss = (field.sin() - 0.5).pow(2).sum()
    loss.backward()
    pass  #! field.grad.mul_(0.0)  #< cause
    with torch.no_grad():
        field.copy_(field - rate * field.grad)
    field.grad.zero_()
