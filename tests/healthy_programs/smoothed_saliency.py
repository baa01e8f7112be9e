"""After training, a map of what a prediction looks at: gradients of an input, averaged over noisy copies of it."""

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
inputs, labels = torch.randn(16, 8), torch.randint(0, 4, (16,))
for _ in range(2):
    loss = torch.nn.functional.cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

image = torch.randn(1, 8, requires_grad=True)
for _ in range(5):
    model(image + 0.1 * torch.randn(1, 8))[0, 2].backward()
saliency = image.grad / 5
print(saliency.shape)
