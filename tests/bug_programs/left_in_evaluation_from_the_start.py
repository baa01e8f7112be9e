# kind: left-in-evaluation; symptom: it is worse on new data than it should be; names: net is in evaluation mode, batch_norm, nothing has collected
import torch


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = torch.nn.Linear(5, 12), torch.nn.BatchNorm1d(12)
        self.drop, self.last = torch.nn.Dropout(0.2), torch.nn.Linear(12, 2)

    def forward(self, rows):
        return self.last(self.drop(torch.relu(self.norm(self.first(rows)))))


torch.manual_seed(0)
net = Encoder()
net.train()  #! net.eval()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
rows, classes = torch.randn(40, 5), torch.randint(0, 2, (40,))
for batch in range(0, 40, 10):
    loss = torch.nn.functional.cross_entropy(net(rows[batch : batch + 10]), classes[batch : batch + 10])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
