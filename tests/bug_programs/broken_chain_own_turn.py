# kind: broken-chain; symptom: forgeries stay as they are; names: forger, detach
import torch

torch.manual_seed(0)
forger = torch.nn.Linear(3, 5)
expert = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
turns = {"expert": torch.optim.SGD(expert.parameters(), lr=0.1), "forger": torch.optim.SGD(forger.parameters(), lr=0.1)}


def turn(whose, score):
    turns[whose].zero_grad()
    score.mean().backward()
    turns[whose].step()


for _ in range(3):
    copies = forger(torch.randn(6, 3))
    turn("expert", expert(copies.detach()) - expert(torch.ones(6, 5)))
    judged = copies  #! judged = copies.detach()  #< cause
    turn("forger", -expert(judged))
