"""A model is converted to double precision, which gives each parameter other memory and frees what it had."""

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Embedding(50, 16), torch.nn.LayerNorm(16), torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3)
)
model = model.double()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
words = torch.arange(30)
for _ in range(3):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(words), words % 3)
    loss.backward()
    optimizer.step()
print("loss", loss.item() > 0)
