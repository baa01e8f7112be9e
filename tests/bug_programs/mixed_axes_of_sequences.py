# kind: mixed-axes; symptom: forecasts of one series follow another one; names: states, permute(1, 0, 2)
import torch


def main():
    torch.manual_seed(1)
    cell, read = torch.nn.Linear(3 + 7, 7), torch.nn.Linear(7, 1)
    parameters = [*cell.parameters(), *read.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    for _ in range(3):
        series = torch.randn(9, 4, 3)
        hidden, kept = torch.zeros(4, 7), []
        for moment in series:
            hidden = torch.tanh(cell(torch.cat([moment, hidden], 1)))
            kept.append(hidden)
        states = torch.stack(kept)
        by_series = states.permute(1, 0, 2)  #! by_series = states.view(4, 9, 7)
        wanted = series.sum(2).t()
        loss = (read(by_series).squeeze(2) - wanted).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
