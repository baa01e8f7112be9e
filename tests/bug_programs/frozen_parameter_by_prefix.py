# kind: frozen-parameter; symptom: freezing the second layer slows down the last ones as well; names: 10, 11, startswith
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(12)))
for name, p in net.named_parameters():
    if name.startswith("1."):  #! if name.startswith("1"):
        p.requires_grad = False  #< cause
opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
for step in range(2):
    x = torch.randn(6, 4)
    loss = ((net(x) - x) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
