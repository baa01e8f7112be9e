# kind: loss-contract; symptom: classes are not learned apart; names: nll_loss, dimension 0, dim=1
import torch

torch.manual_seed(0)
weight = torch.nn.Parameter(torch.randn(5, 3))
optimizer = torch.optim.SGD([weight], lr=0.1)
for _ in range(3):
    grains = torch.randn(7, 5)
    shares = torch.softmax(grains @ weight, 1)  #! shares = torch.softmax(grains @ weight, 0)  #< cause
    optimizer.zero_grad()
    torch.nn.functional.nll_loss(shares.log(), grains[:, :3].argmax(1)).backward()
    optimizer.step()
