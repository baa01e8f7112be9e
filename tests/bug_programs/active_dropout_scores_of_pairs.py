# kind: active-dropout; symptom: two evaluations of the same inputs differ; names: dropout, model
import torch

F = torch.nn.functional


class Pairs(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = torch.nn.Embedding(9, 6), torch.nn.Embedding(7, 6)
        self.out = torch.nn.Linear(6, 1)

    def forward(self, a, b):
        both = self.left(a) * self.right(b)
        kept = F.dropout(both, 0.3, self.training)  #! kept = F.dropout(both, 0.3)
        return self.out(kept).squeeze(-1)


def judged(model, a, b):
    model.eval()
    with torch.no_grad():
        scores = model(a, b)
    model.train()
    return scores


torch.manual_seed(0)
model = Pairs()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    a, b = torch.randint(9, (8,)), torch.randint(7, (8,))
    loss = F.mse_loss(model(a, b), (a == b).float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print((judged(model, a, b) - judged(model, a, b)).abs().max().item())
