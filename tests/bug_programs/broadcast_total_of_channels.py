# kind: broadcast; symptom: sharpness of one picture changes others; names: brightness, (5, 5, 6, 7), keepdim=True
import torch

torch.manual_seed(0)
mask, tint = torch.nn.Conv2d(3, 1, 1), torch.nn.Conv2d(3, 3, 1)
optimizer = torch.optim.Adam([*mask.parameters(), *tint.parameters()], lr=0.01)
for _ in range(3):
    pictures = torch.rand(5, 3, 6, 7)
    share = torch.sigmoid(mask(pictures))
    brightness = tint(pictures).mean(1, keepdim=True)  #! brightness = tint(pictures).mean(1)
    loss = (share * brightness - pictures.amax(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
