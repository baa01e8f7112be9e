# kind: exploding; symptom: inf in the second batch; names: lr=1e+25, encoder.weight, gap
import torch


class Squeeze(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = torch.nn.Linear(8, 3), torch.nn.Linear(3, 8)

    def forward(self, signal):
        return self.decoder(torch.tanh(self.encoder(signal)))


def main():
    torch.manual_seed(9)
    net = Squeeze()
    adam = torch.optim.AdamW(net.parameters(), lr=1e-3)  #! adam = torch.optim.AdamW(net.parameters(), lr=1e25)
    for _ in range(4):
        signal = torch.randn(16, 8)
        gap = torch.nn.functional.mse_loss(net(signal), signal)
        adam.zero_grad()
        gap.backward()
        adam.step()


main()
