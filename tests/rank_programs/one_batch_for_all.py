"""kind: same-data; says: in each of 3 steps all 2 ranks, the same data"""

import torch
import torch.distributed as dist


class Windows(torch.utils.data.Dataset):
    def __init__(self, series):
        self.series = series

    def __len__(self):
        return len(self.series) - 4

    def __getitem__(self, at):
        return self.series[at : at + 3], self.series[at + 3]


dist.init_process_group("gloo")
torch.manual_seed(0)
wave = Windows(torch.sin(torch.arange(40.0) / 3))
forecast = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1))
rates = torch.optim.Adam(forecast.parameters(), lr=0.01)
feed = torch.utils.data.DataLoader(wave, batch_size=12, shuffle=True)
for past, future in feed:  # cause
    rates.zero_grad()
    (forecast(past).squeeze(1) - future).abs().mean().backward()
    rates.step()
dist.destroy_process_group()
