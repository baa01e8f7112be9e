# kind: missing-detach; symptom: all outputs become the same; names: z, encoder, detach
import torch

torch.manual_seed(13)
encoder = torch.nn.Linear(6, 4)
predictor = torch.nn.Linear(4, 4)
opt = torch.optim.SGD([*encoder.parameters(), *predictor.parameters()], lr=0.05)


def unlike(p, z):
    return -torch.nn.functional.cosine_similarity(p, z.detach(), dim=1).mean()  #! return -torch.nn.functional.cosine_similarity(p, z, dim=1).mean()


for step in range(3):
    x = torch.randn(16, 6)
    a = torch.tanh(encoder(x + 0.1 * torch.randn_like(x)))
    b = torch.tanh(encoder(x + 0.1 * torch.randn_like(x)))
    loss = 0.5 * (unlike(predictor(a), b) + unlike(predictor(b), a))
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", float(loss.detach()) < 1)
