import torch

# A predictor of the next embedding, whose other side moves, too: pixels that are drawn again keep it from a constant,
# in one sum or in a run of their own; and an equation with a source.
torch.manual_seed(0)
encoder, decoder, following = torch.nn.Linear(6, 4), torch.nn.Linear(4, 6), torch.nn.Linear(4, 4)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters(), *following.parameters()], lr=1e-2)
mse = torch.nn.functional.mse_loss
for step in range(4):
    now, then = torch.randn(10, 6), torch.randn(10, 6)
    here, there = encoder(now), encoder(then)
    drawn, expected = mse(decoder(here), now), ((following(here) - there) ** 2).mean()
    optimizer.zero_grad()
    if step < 2:
        (drawn + expected).backward()
    else:
        drawn.backward(retain_graph=True)
        expected.backward()
    optimizer.step()
field = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
operator = torch.nn.Linear(1, 1)
solver = torch.optim.Adam([*field.parameters(), *operator.parameters()], lr=1e-2)
for _ in range(2):
    here, there, source = torch.randn(10, 2), torch.randn(10, 2), torch.randn(10, 1)
    residual = operator(field(here)) - (field(there) + source)
    solver.zero_grad()
    residual.pow(2).mean().backward()
    solver.step()
print(step, bool(torch.isfinite(expected)), bool(torch.isfinite(residual.sum())))
