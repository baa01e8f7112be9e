# kind: unclipped-gradient; symptom: one of two networks sometimes jumps; names: clip_grad_value_, pushing, nothing ever clips these
import torch

clip = torch.nn.utils.clip_grad_value_


class Pair:
    def __init__(self):
        self.near, self.far = torch.nn.Linear(4, 3), torch.nn.Linear(3, 1)
        self.pulling = torch.optim.SGD(self.near.parameters(), lr=0.01)
        self.pushing = torch.optim.SGD(self.far.parameters(), lr=0.01)

    def pull(self, x):
        loss = (self.near(x) - x[:, :3]).square().mean()
        self.pulling.zero_grad()
        loss.backward()
        clip(self.near.parameters(), 0.05)
        self.pulling.step()

    def push(self, x):
        with torch.no_grad():
            held = self.near(x)
        loss = (self.far(held) - x[:, 3:]).square().mean()
        self.pushing.zero_grad()
        loss.backward()
        clip(self.far.parameters(), 0.05)  #! clip(self.near.parameters(), 0.05)
        self.pushing.step()


torch.manual_seed(0)
pair = Pair()
for _ in range(3):
    pair.pull(5 * torch.randn(8, 4))
    pair.push(5 * torch.randn(8, 4))
