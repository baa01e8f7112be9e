"""A watched run written for other tools, and read back by the tools' own libraries, where these are installed."""

from __future__ import annotations

import csv
import json
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import retrograd as rg
from retrograd.cli.group import cli
from retrograd.errors import RetrogradError
from retrograd.inspect.histories.watched_file import load_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run of 300 steps in so little memory that older ones are stretches."""
    file = str(tmp_path_factory.mktemp("run") / "run.json")
    rg.manual_seed(0)
    net = rg.nn.Linear(3, 1)
    optimizer = rg.optim.SGD(net.parameters(), lr=0.01)
    with rg.watch(net, optimizer, file=file, memory=1, triggers=False):
        for _ in range(300):
            optimizer.zero_grad()
            net(rg.ones(4, 3)).square().mean().backward()
            optimizer.step()
    return file


def written(run: str, path: Path, fmt: str = "") -> Path:
    """Write a run by the command line."""
    result = CliRunner().invoke(cli, ["render", run, "-o", str(path), *(("-f", fmt) if fmt else ())])
    assert result.exit_code == 0, result.output
    return path


def test_csv(run: str, tmp_path: Path) -> None:
    """Medians of all figures, a row for each stretch."""
    table = list(csv.reader(written(run, tmp_path / "run.csv").read_text().splitlines()))
    curves = load_run(run).curves

    assert len(table) == len(curves) + 1
    place = table[0].index("gradient:weight")
    assert np.allclose([float(row[place]) for row in table[1:]], curves.of("gradient", "weight"))


def test_parquet(run: str, tmp_path: Path) -> None:
    """Every known figure is a row, with its extremes; what happened is in the metadata."""
    pq = pytest.importorskip("pyarrow.parquet")
    table = pq.read_table(written(run, tmp_path / "run.parquet"))
    curves = load_run(run).curves
    losses = [row for row in table.to_pylist() if (row["figure"], row["owner"]) == ("loss", "")]

    assert [row["last"] for row in losses] == curves.last.tolist()
    assert np.allclose([row["greatest"] for row in losses], curves.of("loss", which="greatest"))
    assert len(table) == int((~np.isnan(curves.median)).sum())
    assert json.loads(table.schema.metadata[b"about"])["every"] == 1


@pytest.mark.filterwarnings("ignore")  # of what TensorBoard imports
def test_tensorboard(run: str, tmp_path: Path) -> None:
    """TensorBoard's own reader finds the scalars at their steps, and histograms over parameters."""
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    read = events.EventAccumulator(str(written(run, tmp_path / "logs", "tensorboard")), size_guidance={"scalars": 0})
    read.Reload()
    curves = load_run(run).curves

    assert [one.step for one in read.Scalars("loss")] == curves.last.tolist()
    assert np.allclose([one.value for one in read.Scalars("gradient/weight")], curves.of("gradient", "weight"))
    stretches = curves.last > curves.first
    assert len(read.Scalars("loss (greatest)")) == stretches.sum() > 0
    assert read.Histograms("all parameters/gradient")[0].histogram_value.num == 2


def logged(content: bytes) -> Iterator[bytes]:
    """Yield the records of a log of LevelDB behind W&B's header: blocks of 32 KiB, records in fragments."""
    place, whole = 7, b""
    while place + 7 <= len(content):
        if 32768 - place % 32768 < 7:
            place += 32768 - place % 32768
            continue
        length, kind = struct.unpack_from("<HB", content, place + 4)
        whole += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):
            yield whole
            whole = b""


@pytest.mark.filterwarnings("ignore")  # of what wandb imports
def test_wandb(run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An offline run is written that W&B's own reader can read; nothing is sent."""
    wandb = pytest.importorskip("wandb")
    from wandb.proto import wandb_internal_pb2

    monkeypatch.setenv("HOME", str(tmp_path))
    folder = written(run, tmp_path / "logs", "wandb")
    wandb.teardown()  # its process still writes after finish()
    (file,) = folder.glob("wandb/offline-run-*/*.wandb")
    steps = []
    for data in logged(file.read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        items = {item.key or "/".join(item.nested_key): item.value_json for item in record.history.item}
        if "loss" in items:
            steps.append(int(json.loads(items["_step"])) if "_step" in items else record.history.step.num)

    assert steps == load_run(run).curves.last.tolist()


def test_refusals(run: str, tmp_path: Path) -> None:
    """What is no form, a folder on standard output and a place that cannot be written are refused in one sentence."""

    def said(*arguments: str) -> str:
        result = CliRunner().invoke(cli, ["render", run, *arguments])
        assert isinstance(result.exception, RetrogradError | SystemExit)
        return result.output + str(result.exception)

    assert "which is drawn as a page" in said("-o", str(tmp_path / "run.svg"))
    assert "not written to standard output" in said("-f", "tensorboard")
    (tmp_path / "file").write_text("")
    assert "Could not write" in said("-o", str(tmp_path / "file" / "run.csv"))
