# kind: moving-statistics; symptom: what the teacher says of one picture changes while only the pupil learns; names: train, teacher
import torch


class Distilled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.teacher = torch.nn.Sequential(torch.nn.Conv1d(1, 4, 3), torch.nn.BatchNorm1d(4), torch.nn.ReLU())
        self.pupil = torch.nn.Conv1d(1, 4, 3)
        self.teacher.requires_grad_(False)
        self.teacher.train(False)

    def forward(self, x):
        return (self.pupil(x) - self.teacher(x)).square().mean()


def epoch_of(model, optimizer):
    model.train()  #< cause
    model.teacher.eval()  #! pass
    for _ in range(3):
        distance = model(torch.randn(5, 1, 8))
        optimizer.zero_grad()
        distance.backward()
        optimizer.step()


torch.manual_seed(0)
model = Distilled()
optimizer = torch.optim.Adam(model.pupil.parameters(), lr=0.01)
for _ in range(2):
    epoch_of(model, optimizer)
