# kind: optimizer-mismatch; symptom: the loss stays where it was; names: adam, never steps, adam.step()
import torch


def fit(net, batches):
    adam = torch.optim.Adam(net.parameters(), lr=0.05)
    for x in batches:
        adam.zero_grad()
        loss = torch.nn.functional.l1_loss(net(x), x.sum(1, keepdim=True))
        loss.backward()  #< cause
        adam.step()  #! adam.step


torch.manual_seed(0)
fit(torch.nn.Linear(4, 1), [torch.randn(8, 4) for _ in range(5)])
