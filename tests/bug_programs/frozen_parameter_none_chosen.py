# kind: frozen-parameter; symptom: only the bias that is learned beside it changes; names: 0.weight, 2.bias
import torch

torch.manual_seed(0)
body = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))
shift = torch.zeros(2, requires_grad=True)
for key, value in body.named_parameters():
    value.requires_grad_(key.startswith("2."))  #! value.requires_grad_(key.startswith("fc2"))
opt = torch.optim.Adam([{"params": [shift, *body.parameters()]}])
for _ in range(4):
    rows = torch.randn(6, 3)
    loss = torch.nn.functional.cross_entropy(body(rows) + shift, (rows[:, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
