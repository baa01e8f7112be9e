import torch

# What was expanded is written to before, as a whole and in copies; never in a part that others share.
torch.manual_seed(12)
base = torch.zeros(1, 4)
wide = base.expand(3, 4)
base[0, 1] = 2.0
base.add_(1.0)
same = base.expand(1, 4)
same[0, 2] = 3.0
copy = wide.clone()
copy[1] = 5.0
flat = wide.reshape(-1)
flat[0] = 7.0
column, row = torch.broadcast_tensors(torch.ones(3, 4), torch.ones(4))
column[1] = 4.0
weight = torch.randn(4, requires_grad=True)
total = torch.zeros(3, 4)
for k in range(3):
    total[k] += wide[k] * weight
loss = (total + copy + flat.view(3, 4) + column * row).pow(2).mean()
loss.backward()
print("loss", float(loss.detach()) > 0)
