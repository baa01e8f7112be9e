# kind: freed-graph; symptom: the second piece of a series raises; names: state, tuple
import torch

torch.manual_seed(0)
nn = torch.nn
rnn, head = nn.LSTM(3, 5, batch_first=True), nn.Linear(5, 1)
opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.01)
state = None
for piece in torch.sin(torch.arange(48.0)).reshape(1, 16, 3).split(4, dim=1):
    out, state = rnn(piece, state)  #< cause
    loss = (head(out)[:, :-1] - piece[:, 1:, :1]).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    state = tuple(one.detach() for one in state)  #! torch.is_grad_enabled()
