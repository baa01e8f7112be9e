# kind: stale-statistics; symptom: the averaged net is no better than chance; names: running statistics, buffers; torch only
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.norm = torch.nn.Linear(5, 6), torch.nn.BatchNorm1d(6)
        self.leave = torch.nn.Linear(6, 2)

    def forward(self, x):
        return self.leave(torch.relu(self.norm(self.enter(x))))


def average(mean, net):
    entries = dict(net.state_dict())  #! entries = dict(net.named_parameters())
    own = dict(mean.state_dict())
    for name, value in entries.items():
        if value.is_floating_point():
            own[name].copy_(0.8 * own[name] + 0.2 * value.detach())  #< cause


torch.manual_seed(0)
net, mean = Net(), Net()
mean.load_state_dict({name: one.clone() for name, one in net.named_parameters()}, strict=False)
mean.eval().requires_grad_(False)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(5):
    x = 2 * torch.randn(16, 5) - 4
    loss = torch.nn.functional.cross_entropy(net(x), (x[:, 0] > -4).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average(mean, net)
with torch.no_grad():
    print(mean(2 * torch.randn(16, 5) - 4).argmax(1))
