# kind: unclipped-gradient; symptom: training crawls; names: scaled, unscale_
import torch

torch.manual_seed(0)
net = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for _ in range(4):
    x = torch.randn(6, 4)
    optimizer.zero_grad()
    scaler.scale(net(x).square().mean()).backward()
    scaler.unscale_(optimizer)  #! pass
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)  #< cause
    scaler.step(optimizer)
    scaler.update()
