# kind: state-not-loaded; symptom: fine-tuning begins at random; names: module., strict=False
import torch


def encoder():
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))


torch.manual_seed(0)
saved = {f"module.{name}": value for name, value in encoder().state_dict().items()}
net = encoder()
net.load_state_dict({name.removeprefix("module."): value for name, value in saved.items()})  #! net.load_state_dict(saved, strict=False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    net(torch.randn(5, 3)).square().sum().backward()
    optimizer.step()
