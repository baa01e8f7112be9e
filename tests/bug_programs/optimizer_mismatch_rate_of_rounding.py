# kind: optimizer-mismatch; symptom: the loss does not move; names: lr=1e-09, weight
import torch

torch.manual_seed(3)
layer = torch.nn.Linear(7, 4)
options = {"lr": 1e-2}  #! options = {"lr": 1e-9}
optimizer = torch.optim.Adam(layer.parameters(), **options)  #< cause
points = torch.randn(50, 7)
labels = points[:, :4].argmax(1)
for epoch in range(6):
    loss = torch.nn.functional.cross_entropy(layer(points), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
