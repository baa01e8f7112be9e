# kind: frozen-parameter; symptom: the prototypes that are to stay move; names: prototypes, requires_grad = False, requires_grad_
import torch


class Adapted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.features, self.prototypes = torch.nn.Linear(4, 6), torch.nn.Linear(6, 3)

    def forward(self, x):
        return self.prototypes(torch.relu(self.features(x)))


torch.manual_seed(0)
net = Adapted()
net.prototypes.requires_grad_(False)  #! net.prototypes.requires_grad = False
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(3):
    chances = torch.softmax(net(torch.randn(7, 4)), 1)
    loss = -(chances * torch.log(chances + 1e-8)).sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
