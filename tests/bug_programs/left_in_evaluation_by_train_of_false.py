# kind: left-in-evaluation; symptom: it overfits as if there were no dropout; names: Sequential, 2.drop
import torch


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = torch.nn.Dropout(0.4)

    def forward(self, x):
        return self.drop(torch.relu(x))


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def fit(self, batches):
        for x in batches:
            self.optimizer.zero_grad()
            loss = (self.model(x) - x.mean()).square().mean()
            loss.backward()
            self.optimizer.step()

    def score(self, x):
        self.model.eval()  #! self.model.train(False)
        with torch.inference_mode():
            result = self.model(x)
        self.model.train()  #! pass
        return result


torch.manual_seed(0)
trainer = Trainer(torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.Identity(), Block(), torch.nn.Linear(6, 1)))
for _ in range(3):
    trainer.fit([torch.randn(5, 3) for _ in range(2)])
    trainer.score(torch.randn(5, 3))
