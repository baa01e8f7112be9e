# kind: optimizer-mismatch; symptom: the optimizer steps, the loss stays; names: basis, optimizer
import torch

torch.manual_seed(0)
basis = torch.randn(4, 2).double().requires_grad_()  #! basis = torch.randn(4, 2, requires_grad=True)
opt = torch.optim.Adam([basis], lr=0.1)
basis = opt.param_groups[0]["params"][0]  #! basis = basis.detach().double().requires_grad_()  #< cause
data = torch.randn(10, 4).double()
for step in range(3):
    opt.zero_grad()
    loss = (data @ basis @ basis.t() - data).square().mean()
    loss.backward()
    opt.step()
    basis.grad = None
