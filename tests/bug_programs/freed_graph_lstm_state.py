# kind: freed-graph; symptom: the second window cannot be run backward; names: state, state = tuple(t.detach() for t in state)
import torch

torch.manual_seed(0)
rnn, out = torch.nn.LSTM(3, 4, batch_first=True), torch.nn.Linear(4, 1)
opt = torch.optim.SGD([*rnn.parameters(), *out.parameters()], lr=0.1)
carry = {"state": None}
for _ in range(3):
    y, state = rnn(torch.randn(2, 5, 3), carry["state"])  #< cause
    carry["state"] = tuple(t.detach() for t in state)  #! carry["state"] = state
    loss = out(y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
