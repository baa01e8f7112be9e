# kind: broadcast; symptom: the loss stays where it is; names: scores, species, (12, 3)
import torch

torch.manual_seed(0)
weight = torch.randn(5, 3, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for _ in range(3):
    leaves = torch.randn(12, 5)
    species = torch.randint(0, 3, (12,))
    scores = torch.log_softmax(leaves @ weight, dim=1)
    right = scores[torch.arange(12), species]  #! right = scores[:, species]
    loss = right.neg().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
