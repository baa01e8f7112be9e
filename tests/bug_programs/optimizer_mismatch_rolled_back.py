# kind: optimizer-mismatch; symptom: after the first rollback the loss does not change any more; names: optimizer, weight
import torch

torch.manual_seed(0)
x, y = torch.randn(20, 4), torch.randn(20, 1)


class Trainer:
    def __init__(self):
        self.best = None
        self.begin(torch.nn.Linear(4, 1))

    def begin(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def step(self):
        loss = (self.model(x) - y).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def roll_back(self):
        fresh = torch.nn.Linear(4, 1)  #< cause
        fresh.load_state_dict(self.best)
        self.begin(fresh)  #! self.model = fresh


trainer = Trainer()
for epoch in range(8):
    trainer.step()
    if epoch == 1:
        trainer.best = {name: value.detach().clone() for name, value in trainer.model.state_dict().items()}
    if epoch == 4:
        trainer.roll_back()
