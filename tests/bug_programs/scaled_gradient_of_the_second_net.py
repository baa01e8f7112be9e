# kind: scaled-gradient; symptom: the second net diverges while the first one learns; names: of_judge.step, scaler.step
import torch


class Pair:
    def __init__(self):
        self.maker, self.judge = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)
        self.of_maker = torch.optim.SGD(self.maker.parameters(), lr=0.001)
        self.of_judge = torch.optim.SGD(self.judge.parameters(), lr=0.001)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=128.0)

    def judge_turn(self, real):
        made = self.maker(torch.randn(len(real), 2)).detach()
        loss = torch.nn.functional.softplus(self.judge(made) - self.judge(real)).mean()
        self.of_judge.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.of_judge)  #! self.of_judge.step()

    def maker_turn(self, count):
        loss = torch.nn.functional.softplus(-self.judge(self.maker(torch.randn(count, 2)))).mean()
        self.of_maker.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.of_maker)
        self.scaler.update()


torch.manual_seed(0)
pair = Pair()
for _ in range(3):
    pair.judge_turn(torch.randn(5, 4))
    pair.maker_turn(5)
