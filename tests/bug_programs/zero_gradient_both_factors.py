# kind: zero-gradient; symptom: the adapter stays what it is; names: down, up, zero
import torch

torch.manual_seed(0)
frozen = torch.randn(5, 4)
down = torch.randn(5, 2).mul(0.1).requires_grad_()  #! down = torch.zeros(5, 2).requires_grad_()
up = torch.zeros(2, 4).requires_grad_()
optimizer = torch.optim.AdamW([down, up], lr=0.01, weight_decay=0.0)
for _ in range(4):
    x = torch.randn(8, 5)
    small = x.mm(down)
    result = x.mm(frozen) + small.mm(up)  #< cause
    loss = (result - x[:, :4].cos()).abs().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
