# kind: moving-statistics; symptom: the frozen encoder gives other features after each epoch; names: train, encoder, running statistics
import torch


class Transfer(torch.nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder, self.head = encoder, torch.nn.Linear(6, 3)

    def forward(self, x):
        return self.head(self.encoder(x))


torch.manual_seed(0)
encoder = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.BatchNorm1d(6), torch.nn.ReLU())
for p in encoder.parameters():
    p.requires_grad_(False)
encoder.eval()
model = Transfer(encoder)
optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1)
for epoch in range(3):
    model.head.train()  #! model.train()
    for _ in range(2):
        x, label = 3 * torch.randn(8, 4) + 1, torch.randint(3, (8,))
        loss = torch.nn.functional.cross_entropy(model(x), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
