# kind: zero-gradient; symptom: the code book learns, what chooses from it does not; names: share, detach()
import torch

torch.manual_seed(0)
choose, book = torch.nn.Linear(3, 6), torch.nn.Linear(6, 2, bias=False)
optimizer = torch.optim.SGD([*choose.parameters(), *book.parameters()], lr=0.1)
for _ in range(3):
    x = torch.randn(7, 3)
    share = torch.softmax(choose(x), -1)
    picked = torch.nn.functional.one_hot(share.argmax(-1), 6).float()
    code = (picked - share).detach() + share  #! code = picked.add(share).sub(share)
    loss = (book(code) - x[:, :2]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
