"""kind: unreduced-gradient; says: the forward pass calls the module inside DistributedDataParallel"""

import torch
import torch.distributed as dist


class Player(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.moves = torch.nn.Linear(4, 3)

    def forward(self, board):
        return self.moves(board).softmax(1)

    def regret(self, board, move):
        return torch.nn.functional.cross_entropy(self.moves(board), move)


def play(player, optimizer, rounds=3):
    for _ in range(rounds):
        board = torch.randn(6, 4)
        with torch.no_grad():
            move = player(board).multinomial(1).squeeze(1)
        optimizer.zero_grad()
        player.module.regret(board, move).backward()  # cause
        optimizer.step()


dist.init_process_group("gloo")
wrapped = torch.nn.parallel.DistributedDataParallel(Player())
torch.manual_seed(dist.get_rank())
play(wrapped, torch.optim.SGD(wrapped.parameters(), lr=0.1))
dist.destroy_process_group()
