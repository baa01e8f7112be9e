# kind: unclipped-gradient; symptom: single steps are huge in spite of the bound; names: clip_grad_value_, after opt.step(), weight, bias
import torch

torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters())


def learn(batch, target):
    opt.zero_grad(set_to_none=False)
    error = net(batch).squeeze(1) - target
    error.square().sum().backward()
    torch.nn.utils.clip_grad_value_(net.parameters(), 0.5)  #! opt.step()
    opt.step()  #! torch.nn.utils.clip_grad_value_(net.parameters(), 0.5)  #< cause


for step in range(4):
    rows = torch.randn(16, 4)
    learn(rows, rows[:, 0] * 3)
