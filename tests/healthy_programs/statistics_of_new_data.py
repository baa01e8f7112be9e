"""A frozen encoder whose statistics follow the new data, as its parent's train() has them do, or its own layers'."""

import torch


def trained(net, head, begin):
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(3):
        begin()
        loss = torch.nn.functional.cross_entropy(net(torch.randn(6, 4)), torch.randint(2, (6,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        net.eval()
        with torch.no_grad():
            net(torch.randn(6, 4))


torch.manual_seed(0)
for on_purpose in (False, True):
    encoder, head = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.BatchNorm1d(6)), torch.nn.Linear(6, 2)
    net = torch.nn.Sequential(encoder, head)
    encoder.requires_grad_(False)
    if on_purpose:
        encoder.eval()
    trained(net, head, encoder[1].train if on_purpose else net.train)
print("done")
