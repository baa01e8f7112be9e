import torch

torch.manual_seed(7)
encoder = torch.nn.Sequential(torch.nn.Linear(6, 10), torch.nn.ReLU())
head = torch.nn.Linear(10, 3)
for p in encoder.parameters():
    p.requires_grad_(False)
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
x, labels = torch.randn(40, 6), torch.randint(0, 3, (40,))
for step in range(4):
    with torch.no_grad():
        features = encoder(x)
    loss = torch.nn.functional.cross_entropy(head(features), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    correct = (head(features).argmax(1) == labels).float().mean().item()
print("accuracy", 0.0 <= correct <= 1.0)
