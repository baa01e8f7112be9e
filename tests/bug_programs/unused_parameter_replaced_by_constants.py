# kind: unused-parameter; symptom: only the scale is trained; names: student, with other tensors in place
import torch


class Trainer:
    def __init__(self):
        self.student = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
        self.scale = torch.ones(1, requires_grad=True)
        self.optimizer = torch.optim.Adam([{"params": self.student.parameters()}, {"params": [self.scale]}])
        self.saved = {name: torch.zeros_like(p) for name, p in self.student.named_parameters()}

    def predict(self, x):
        weights = dict(self.student.named_parameters())  #! weights = self.saved
        return torch.func.functional_call(self.student, weights, (x,)) * self.scale + self.scale  #< cause

    def step(self, x, y):
        loss = (self.predict(x) - y).abs().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


torch.manual_seed(0)
trainer = Trainer()
for _ in range(3):
    rows = torch.randn(5, 3)
    trainer.step(rows, rows[:, :1])
