# kind: nondifferentiable; symptom: the policy follows its entropy alone; names: policy, argmax
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
for _ in range(3):
    obs, advantage = torch.randn(12, 4), torch.randn(12)
    logits = net(obs).log_softmax(-1)
    action = logits.detach().exp().multinomial(1)
    chosen = logits.gather(1, action).squeeze(1)  #! chosen = logits.argmax(1).float()
    policy = -(chosen * advantage).mean()
    entropy = -(logits.exp() * logits).sum(-1).mean()
    loss = policy - 0.01 * entropy
    opt.zero_grad()
    loss.backward()
    opt.step()
