import torch

torch.manual_seed(0)
nn = torch.nn
net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 3))


def attention(image, seen):
    handles = [
        net[2].register_forward_hook(lambda module, given, out: seen.update(act=out.detach())),
        net[2].register_full_backward_hook(lambda module, into, out: seen.update(grad=out[0].clone())),
    ]
    score = net(image)[0].max()
    net.zero_grad()
    score.backward()
    for handle in handles:
        handle.remove()
    return torch.relu(seen["act"] * seen["grad"]).sum()


print(float(sum(attention(torch.rand(1, 4), {}) for _ in range(3))))
