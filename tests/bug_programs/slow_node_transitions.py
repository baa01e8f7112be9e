# kind: slow-node; symptom: almost all of backward is one node; names: matrix_exp, ms; torch only
import torch


class Transitions(torch.nn.Module):
    def __init__(self, states):
        super().__init__()
        self.rates = torch.nn.Parameter(torch.rand(states, states) / states)

    def forward(self, start, time):
        after = self.rates * time
        return start @ after  #! return start @ after.matrix_exp()


torch.manual_seed(0)
model = Transitions(480)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
start = torch.softmax(torch.randn(6, 480), 1)
for step in range(3):
    loss = (model(start, 0.5) - start.flip(0)).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
