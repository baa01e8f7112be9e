"""Callbacks that watch what a framework trains, against the real frameworks, where these are installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from retrograd.inspect.histories.watched_file import WatchedRun, load_run

torch = pytest.importorskip("torch")


def watched(folder: Path) -> WatchedRun:
    """What was written."""
    return load_run(str(folder / "run.json"))


def batches() -> Any:
    """Eight batches of four rows."""
    torch.manual_seed(0)
    x = torch.randn(32, 4)
    data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
    return torch.utils.data.DataLoader(data, batch_size=4)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of what Lightning imports
def test_lightning(tmp_path: Path) -> None:
    """``fit`` of two epochs: every step is there, evaluations and logged figures are marked."""
    lightning = pytest.importorskip("lightning")
    from retrograd.inspect.training.frameworks.lightning_ import Watch

    class Fitted(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch: Any, _: int) -> Any:
            loss = (self.layer(batch[0]) - batch[1]).pow(2).mean()
            self.log("fit", loss)
            return loss

        def validation_step(self, batch: Any, _: int) -> None:
            self.layer(batch[0])

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    trainer = lightning.Trainer(
        max_epochs=2, callbacks=[Watch(file=tmp_path / "run.json")], logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, accelerator="cpu", default_root_dir=tmp_path,
    )  # fmt: skip
    trainer.fit(Fitted(), batches(), batches())

    run = watched(tmp_path)
    assert run.steps == 16
    assert run.curves.owners("gradient") == ["layer.weight", "layer.bias"]
    assert [one["text"] for one in run.happened].count("validation") == 2
    assert run.curves.owners("value") == ["fit"]


def test_transformers(tmp_path: Path) -> None:
    """``Trainer.train`` of one epoch: every step is there, with the names of the model."""
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    from retrograd.inspect.training.frameworks.transformers_ import Watch

    class Fitted(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, x: Any, labels: Any) -> Any:
            out = self.layer(x)
            return {"loss": (out - labels).pow(2).mean(), "logits": out}

    rows = [{"x": x, "labels": y} for x, y in batches().dataset]
    settings = transformers.TrainingArguments(
        str(tmp_path), num_train_epochs=1, per_device_train_batch_size=4, report_to=[], use_cpu=True,
        save_strategy="no", disable_tqdm=True,
    )  # fmt: skip
    trainer = transformers.Trainer(
        Fitted(), settings, train_dataset=rows, eval_dataset=rows, callbacks=[Watch(file=tmp_path / "run.json")]
    )
    trainer.train()

    run = watched(tmp_path)
    assert run.steps == 8
    assert run.curves.owners("gradient") == ["layer.weight", "layer.bias"]


def test_accelerate(tmp_path: Path) -> None:
    """A tracker: every step is there, what was logged is a curve."""
    accelerate = pytest.importorskip("accelerate")
    from retrograd.inspect.training.frameworks.accelerate_ import Watch

    accelerator = accelerate.Accelerator(cpu=True, log_with=[Watch(str(tmp_path / "run.json"))])
    layer = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
    layer, optimizer, loader = accelerator.prepare(layer, optimizer, batches())
    accelerator.init_trackers("fit", {"rate": 0.01})
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = (layer(x) - y).pow(2).mean()
        accelerator.backward(loss)
        optimizer.step()
        accelerator.log({"fit": loss.item()}, step=step)
    accelerator.end_training()

    run = watched(tmp_path)
    assert run.steps == 8
    assert run.curves.owners("value") == ["fit"]
    assert run.about["configuration"] == {"rate": "0.01"}


def test_ignite(tmp_path: Path) -> None:
    """A handler: every step of a trainer's run is there."""
    ignite = pytest.importorskip("ignite.engine")
    from retrograd.inspect.training.frameworks.ignite_ import Watch

    layer = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)

    def step(_: Any, batch: Any) -> float:
        optimizer.zero_grad()
        loss = (layer(batch[0]) - batch[1]).pow(2).mean()
        loss.backward()
        optimizer.step()
        return float(loss.item())

    trainer = ignite.Engine(step)
    Watch(layer, file=tmp_path / "run.json").attach(trainer)
    trainer.run(batches(), max_epochs=2)

    run = watched(tmp_path)
    assert run.steps == 16
    assert [one["text"] for one in run.happened] == ["epoch 1 ended", "epoch 2 ended"]
