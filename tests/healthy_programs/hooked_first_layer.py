import torch

# Hooks on the backward of the first layer, whose input is a leaf: the view that they take of it is no cut.
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))
gradients = {}
net[0].register_full_backward_hook(lambda module, taken, given: gradients.update(first=given[0]))
image = torch.rand(2, 4, requires_grad=True)
score = net(image)[:, 0].sum()
score.backward()
print(gradients["first"].shape, image.grad.shape)
