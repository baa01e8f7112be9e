# kind: unused-parameter; symptom: one of the heads never learns; names: heads["depth"].weight, heads["depth"].bias
import torch


def train(steps):
    trunk = torch.nn.Linear(4, 6)
    heads = {"colour": torch.nn.Linear(6, 3)}
    heads["depth"] = torch.nn.Linear(6, 1)  #< cause
    groups = [{"params": part.parameters()} for part in (trunk, *heads.values())]
    optimizer = torch.optim.Adam(groups, lr=0.01)
    for step in range(steps):
        x = torch.randn(8, 4)
        h = torch.relu(trunk(x))
        loss = heads["colour"](h).square().mean()
        loss = loss + heads["depth"](h).abs().mean()  #! loss = loss + h.abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(0)
train(3)
