# kind: zero-gradient; symptom: the second tower never learns; names: mul, image
import torch

torch.manual_seed(10)
text = torch.randn(4, 6, requires_grad=True)
image = torch.randn(5, 6, requires_grad=True)
head = torch.randn(6, 1, requires_grad=True)
share = 0.5  #! share = 0.0
opt = torch.optim.SGD([text, image, head], lr=0.01)
for step in range(3):
    seen, shown = torch.randn(8, 4), torch.randn(8, 5)
    hidden = torch.tanh(seen @ text) + share * torch.tanh(shown @ image)  #< cause
    loss = (hidden @ head).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("image:", float(image.grad.norm()) > 0)
