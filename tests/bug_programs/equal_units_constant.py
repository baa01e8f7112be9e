# kind: equal-units; symptom: eight units learn what one could; names: hidden.weight, random
import torch


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = torch.nn.Linear(3, 8), torch.nn.Linear(8, 2)
        torch.nn.init.normal_(self.hidden.weight, 0.0, 0.2)  #! torch.nn.init.constant_(self.hidden.weight, 0.2)
        torch.nn.init.zeros_(self.hidden.bias)
        torch.nn.init.constant_(self.out.weight, 0.1)

    def forward(self, x):
        return self.out(torch.tanh(self.hidden(x)))


torch.manual_seed(0)
net = Small()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(4):
    x = torch.randn(10, 3)
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long()).backward()
    optimizer.step()
