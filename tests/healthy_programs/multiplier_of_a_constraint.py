import torch

torch.manual_seed(0)


def entropy_with_a_temperature(step_size: float) -> None:
    actor = torch.nn.Linear(3, 2)
    log_alpha = torch.nn.Parameter(torch.tensor(0.0))
    optimizer = torch.optim.Adam([*actor.parameters(), log_alpha], step_size)
    for _ in range(3):
        mean, log_std = actor(torch.randn(8, 3)).chunk(2, -1)
        spread = torch.exp(log_std)
        action = mean + spread * torch.randn(8, 1)
        log_prob = -0.5 * ((action - mean) / spread) ** 2 - log_std
        with torch.no_grad():
            alpha = log_alpha.exp()
        actor_loss = (alpha * log_prob + (action - 1) ** 2).mean()
        alpha_loss = (-log_alpha * (log_prob.detach() - 1.0)).mean()
        optimizer.zero_grad()
        loss = actor_loss + alpha_loss
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.3f}")


def bound_with_a_price(step_size: float) -> None:
    net = torch.nn.Linear(4, 1)
    price = torch.nn.Parameter(torch.tensor(0.5))
    optimizer = torch.optim.SGD([*net.parameters(), price], step_size)
    for _ in range(3):
        y = net(torch.randn(8, 4))
        slack = y.mean() - 0.2
        loss = (y - 1).square().mean() + price.detach() * slack - price * slack.detach()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.3f}")


entropy_with_a_temperature(1e-2)
bound_with_a_price(1e-2)
