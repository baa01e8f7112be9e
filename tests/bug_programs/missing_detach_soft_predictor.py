# kind: missing-detach; symptom: all outputs become the same; names: want, detach
import torch

torch.manual_seed(0)
encoder, predictor = torch.nn.Linear(5, 4), torch.nn.Linear(4, 4)
opt = torch.optim.SGD([*encoder.parameters(), *predictor.parameters()], lr=0.05)


def follow(student, teacher):
    want = torch.softmax(teacher.detach() / 0.5, 1)  #! want = torch.softmax(teacher / 0.5, 1)
    return -(want * torch.log_softmax(student / 0.5, 1)).sum(1).mean()


for _ in range(2):
    x = torch.randn(8, 5)
    loss = follow(predictor(encoder(x)), encoder(x + 0.1 * torch.randn(8, 5)))
    opt.zero_grad()
    loss.backward()
    opt.step()
