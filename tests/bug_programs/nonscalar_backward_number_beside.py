# kind: nonscalar-backward; symptom: grad can be implicitly created only for scalar outputs; names: nll, (8,), loss.backward()
import torch

torch.manual_seed(0)
x, y = torch.randn(8, 3), torch.randint(0, 4, (8,))
w = torch.randn(3, 4, requires_grad=True)
nll = -torch.log_softmax(x @ w, dim=1).gather(1, y[:, None]).sum(1)
loss = nll.mean()
loss.backward()  #! nll.backward()
print("loss", float(loss.detach()))
