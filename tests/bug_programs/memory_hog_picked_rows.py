# kind: memory-hog; symptom: memory grows with the number of users; names: chosen, users, matmul, memory
import torch

torch.manual_seed(0)
count = 3000
users = (torch.randn(count, 6) * 0.2).requires_grad_()
ids = (torch.arange(200) * 13) % count
rated = torch.randn(200)
items = torch.randn(200, 6)
for step in range(3):
    chosen = torch.nn.functional.one_hot(ids, count).float()
    vectors = users[ids]  #! vectors = chosen @ users
    loss = ((vectors * items).sum(1) - rated).square().mean()
    loss.backward()
    with torch.no_grad():
        users -= 0.5 * users.grad
        users.grad = None
