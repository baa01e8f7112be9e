# kind: graph-growth; symptom: evaluation needs more memory with every batch; names: score.detach()
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))


def evaluate(batches):
    scores = []
    with torch.no_grad():  #! if batches:
        for batch in batches:
            score = net(batch)
            scores.append(score)  #< cause
    return torch.cat(scores).detach().mean().item()


print(evaluate([torch.randn(8, 8) for _ in range(6)]))
