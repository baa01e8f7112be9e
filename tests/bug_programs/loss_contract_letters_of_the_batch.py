# kind: loss-contract; symptom: the loss falls, and nothing is read rightly; names: ctc_loss, along dimension 2, dim=2; torch only
import torch

torch.manual_seed(0)
listen = torch.nn.Linear(3, 5)
optimizer = torch.optim.SGD(listen.parameters(), lr=0.1)
for _ in range(3):
    scores = listen(torch.randn(9, 4, 3))
    letters = torch.nn.functional.log_softmax(scores, -1)  #! letters = torch.nn.functional.log_softmax(scores, 1)
    written, spans = torch.randint(1, 5, (4, 2)), torch.full((4,), 9)
    loss = torch.nn.functional.ctc_loss(letters, written, spans, torch.full((4,), 2))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
