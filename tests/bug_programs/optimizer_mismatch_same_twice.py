# kind: optimizer-mismatch; symptom: the value network never learns; names: value_net, optimizer
import torch

torch.manual_seed(0)
policy_net = torch.nn.Linear(3, 2)
value_net = torch.nn.Linear(3, 1)
policy_opt = torch.optim.SGD(policy_net.parameters(), lr=0.1)
value_opt = torch.optim.SGD(value_net.parameters(), lr=0.1)  #! value_opt = torch.optim.SGD(policy_net.parameters(), lr=0.1)
for step in range(4):
    obs = torch.randn(6, 3)
    value_loss = ((value_net(obs) - obs.sum(1, keepdim=True)) ** 2).mean()
    value_opt.zero_grad()
    value_loss.backward()
    value_opt.step()
    policy_loss = torch.log_softmax(policy_net(obs), 1)[:, 0].mean()
    policy_opt.zero_grad()
    policy_loss.backward()
    policy_opt.step()
