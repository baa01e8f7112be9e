# kind: missing-detach; symptom: the large head is worse since a small one learns from it; names: wanted, main.weight, detach
import torch

torch.manual_seed(0)
body, main = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
small = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU(), torch.nn.Linear(4, 3))
optimizer = torch.optim.SGD([*body.parameters(), *main.parameters(), *small.parameters()], lr=0.1)
functional = torch.nn.functional
for step in range(3):
    x = torch.randn(10, 6)
    label = (x[:, 0] > 0).long()
    features = torch.relu(body(x))
    scores, quick = main(features), small(features.detach())
    wanted = functional.softmax(scores / 2.0, 1).detach()  #! wanted = functional.softmax(scores / 2.0, 1)
    taught = functional.kl_div(functional.log_softmax(quick / 2.0, 1), wanted, reduction="batchmean")
    loss = functional.cross_entropy(scores, label) + 4 * taught
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
