# kind: mixed-axes; symptom: it learns, but hardly anything about where things are; names: planes, permute(0, 2, 3, 1)
import torch

F = torch.nn.functional


class Pooled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.filters = torch.nn.Conv2d(2, 5, 3)
        self.weigh, self.classify = torch.nn.Linear(5, 1), torch.nn.Linear(5, 3)

    def forward(self, pictures):
        planes = torch.tanh(self.filters(pictures))
        count, depth, rows, columns = planes.shape
        tokens = planes.flatten(2).transpose(1, 2)  #! tokens = planes.reshape(count, rows * columns, depth)
        share = torch.softmax(self.weigh(tokens), 1)
        return self.classify((share * tokens).sum(1))


torch.manual_seed(0)
net = Pooled()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = F.cross_entropy(net(torch.randn(4, 2, 6, 5)), torch.randint(0, 3, (4,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
