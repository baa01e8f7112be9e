import torch

torch.manual_seed(5)
body = torch.randn(4, 6, requires_grad=True)
heads = [torch.randn(6, 1, requires_grad=True) for _ in range(2)]
x = torch.randn(8, 4)
for step in range(2):
    hidden = torch.tanh(x @ body)
    found = []
    for task in range(2):
        body.grad = heads[task].grad = None
        loss = ((hidden @ heads[task]) - float(task)).pow(2).mean()
        loss.backward(retain_graph=True)
        found.append(body.grad.clone())
    joint = found[0] + found[1]
    print("agree", bool((found[0] * found[1]).sum() > 0), joint.shape)
    with torch.no_grad():
        body -= 0.1 * joint
    body.grad = heads[0].grad = heads[1].grad = None
