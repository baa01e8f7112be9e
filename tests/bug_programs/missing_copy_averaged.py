# kind: missing-copy; symptom: the teacher is the student, and its weights shrink; names: self.teacher, self.student
import copy

import torch


class Distilled:
    def __init__(self):
        self.student = torch.nn.Linear(4, 3)
        self.teacher = copy.deepcopy(self.student)  #! self.teacher = copy.copy(self.student)
        self.optimizer = torch.optim.Adam(self.student.parameters())

    def learn(self, x):
        with torch.no_grad():
            goal = self.teacher(x + 0.1 * torch.randn_like(x)).softmax(1)
        loss = -(goal * self.student(x).log_softmax(1)).sum(1).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(self.teacher.parameters(), self.student.parameters()):
                slow.mul_(0.99).add_(fast, alpha=0.009)


torch.manual_seed(0)
model = Distilled()
for step in range(4):
    model.learn(torch.randn(8, 4))
