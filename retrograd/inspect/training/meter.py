"""``Meter``: collects the statistics of each step from what an engine reports.

A *step* ends with the step of an optimizer. If several optimizers step in turn, it ends with the last of them: the next
step begins when one of them steps again. Where no optimizer steps, ``ByHand`` finds the steps.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np

from ...interpreter import getframe
from ..diagnosis.text.words import at
from ..histories.history import Array, Column, History
from ..program.frames import read_locals, source_line
from ..references import Reference
from .by_hand import ByHand
from .engines import Engine, GraphSize, Pass, greatest_memory, memory_used
from .guarded import Guard
from .kept import KeptGraphs
from .moments import WARM
from .names import Modes, Trained, held_by, names_of
from .replay import Before, Place
from .triggers import KEPT

_COUNTED = 20
"""Steps after which the nodes of the graph are counted again."""


def _listed(roots: Any) -> Sequence[Any]:
    return roots if isinstance(roots, (list, tuple)) else [roots]


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read, and where it is kept."""

    history: History
    every: int = 1
    """Steps from one reading to the next."""
    names: Mapping[int, str] = field(default_factory=dict)
    """``id`` -> names of parameters that are known before."""
    only: frozenset[int] | None = None
    """``id`` of the optimizers that are watched; all where None."""
    first: int = 0
    """Steps of earlier runs."""


class Meter:
    """Listens to one engine, writes rows into a history, and passes them to the triggers."""

    def __init__(self, engine: Engine, reading: Reading, judge: Callable[[Meter, Any], None], guard: Guard) -> None:
        self._engine, self._reading, self._judge, self._safely = engine, reading, judge, guard
        self._history, self._every = reading.history, reading.every
        self.step = reading.first
        """Number of the current step; before the first one, the number before it."""
        self._begun = False
        self.row: Array = np.full(0, np.nan, np.float32)
        """Statistics of the current step so far."""
        self._optimizers: dict[int, Trained] = {}
        self._stepped: set[int] = set()
        self._losses: dict[str, list[Any]] = {}
        self._scaled: dict[int, tuple[Reference, int, Any]] = {}
        """``id`` of a loss that a scaler multiplied -> itself, the ``id`` and the value of what it was made of."""
        self._clipped: list[tuple[Any, float]] = []
        self._scale: Any = None
        self._graph: GraphSize | None = None
        """How large the graph behind the first loss was when it was measured last."""
        self._began = float("nan")
        """When the step before was over."""
        self.graphs = KeptGraphs(engine, KEPT // _COUNTED + 1)
        self._schedulers: dict[int, tuple[Reference, str]] = {}
        """``id`` of an optimizer -> itself, and the scheduler of its rates."""
        self.modes = Modes()
        self._depth = 0
        self._passed = False
        """Whether a scaler let the optimizer step."""
        self.left_out = False
        """Whether it left out the step that was read last."""
        self.scaler: Any = None
        """The scaler that takes a step now."""
        self.exact: list[float] = []
        """The losses of the current step, unrounded."""
        self.before: Before | None = None
        """What the step began with, where it may have to be run again."""
        self._again: list[Any] = []
        """Losses of a step that is run again."""

        self._hands = {} if reading.only is not None else {kind: ByHand(engine) for kind in (True, False)}
        """What finds steps where there is no optimizer: by passes into leaves, or by those that return gradients."""
        self._passing: ByHand | None = None
        self._passes: list[int] = []
        """The thread of each backward pass that is running."""
        self.place: Place | None = None
        """The last backward pass, where steps are found by these."""

    # -- callbacks of the engine

    def backward(self, of: Pass, frame: FrameType | None) -> None:
        """A backward pass begins: keep the values of its roots, with the names they have in the program."""
        thread = threading.get_ident()
        if thread in self._passes:  # a pass within a pass, of a checkpoint: it is part of that one
            self._passes.append(thread)
            if self._passing is not None:
                self._safely(self._passing.reaches, of.roots)
            return
        over: ByHand | None = self._safely(self._step_by_hand, of)
        if over is not None:
            self._judge(self, over)
            if self.before is not None:
                self.before.step_was_found()
        self._passes.append(thread)
        self._safely(self._backward, of, frame)

    def _step_by_hand(self, of: Pass) -> ByHand | None:
        """Read the step that is over where no optimizer steps; return what found it."""
        self._passing = hand = None if self._depth else self._hands.get(of.into_leaves)
        if hand is None or (not of.into_leaves and not of.inputs):
            return None
        with self._engine.own_work():
            if not hand.begins(of.roots, of.inputs):
                return None
            self._hands = {of.into_leaves: hand}
            self._step_begins(hand, closure=False)
            return hand if self._step_ended(hand) else None

    def backward_ended(self, of: Pass, results: Sequence[Any] | None, *, raised: bool) -> None:
        """It is over."""
        thread = threading.get_ident()
        if thread in self._passes:
            self._passes.remove(thread)
        if thread in self._passes:
            return
        hand, self._passing = self._passing, None
        if hand is not None and not self._depth:
            self._safely(self._pass_ended, hand, None if of.into_leaves else results, raised)

    def _pass_ended(self, hand: ByHand, results: Sequence[Any] | None, raised: bool) -> None:
        if raised:
            hand.failed()
            return
        with self._engine.own_work():
            hand.ended(results)
        if self.before is not None:
            self.before.pass_ended()

    def _backward(self, of: Pass, frame: FrameType | None) -> None:
        with self._engine.own_work():
            if self._depth:  # the step is run again
                self._again += [self._scaled_from(one)[1] for one in of.roots]
                return
            if self._passing is not None and self._passing.counts:
                if not of.into_leaves and not self._passing.steps:
                    self._losses.clear()  # those before may have been of anything
                self.place = None if frame is None else Place(frame, kept=self.before is not None)
            elif not of.into_leaves:
                return
            if not self._losses and self.before is not None:
                self.before.backward_begins([one for known in self._optimizers.values() for one in known.parameters])
            self._keep_losses(of.roots, frame)

    def _keep_losses(self, roots: Sequence[Any], frame: FrameType | None) -> None:
        """Keep the values of the roots of a pass, with their names."""
        variables = {} if frame is None else {id(value): name for name, value in read_locals(frame).items()}
        for root in roots:
            if not self._losses and self.step % _COUNTED == 0:
                self._graph = self._engine.graph_size(root)
                self.graphs.add(root, frame)
            key, value = self._scaled_from(root)
            self._losses.setdefault(variables.get(id(root)) or variables.get(key, "loss"), []).append(value)

    def _scaled_from(self, root: Any) -> tuple[int, Any]:
        """Return ``id`` and value of a root; of a loss that was scaled, those that it had before."""
        known = self._scaled.get(id(root))
        return known[1:] if known is not None and known[0]() is root else (id(root), self._engine.held(root))

    def loss_scaled(self, scaled: Any, loss: Any) -> None:
        """Keep the value of a loss as it was before it was scaled."""
        self._safely(self._loss_scaled, scaled, loss)

    def _loss_scaled(self, scaled: Any, loss: Any) -> None:
        self._scaled = {key: known for key, known in self._scaled.items() if known[0]() is not None}
        with self._engine.own_work():
            for one, of in zip(_listed(scaled), _listed(loss), strict=False):
                if self._engine.is_tensor(one):
                    self._scaled[id(one)] = (Reference(one), id(of), self._engine.held(of))

    def scaler_steps(self, scaler: Any) -> None:
        """A scaler is about to let an optimizer step, or not."""
        self.scaler, self._passed = scaler, False

    def scaler_stepped(self, optimizer: Any) -> None:
        """It has: a step that it left out counts as one that moved nothing."""
        if optimizer is not None and not self._passed and self.scaler.is_enabled():
            self.step_begins(optimizer, closure=False)
            self.left_out = True
            self.step_ended(optimizer)
        self.scaler, self.left_out = None, False

    def step_begins(self, optimizer: Any, *, closure: bool) -> None:
        """An optimizer is about to step."""
        self._safely(self._step_begins, optimizer, closure)

    def _step_begins(self, optimizer: Any, closure: bool) -> None:
        if self._depth or (self._reading.only is not None and id(optimizer) not in self._reading.only):
            return
        if not isinstance(optimizer, ByHand) and self._hands:
            self._leave_to_optimizers()
        if id(optimizer) in self._stepped or not self._begun:
            self._next_step()
        self._passed = True
        if closure and self.before is not None:
            self.before.step_begins()
        if self.step % self._every:
            self._known(optimizer)
            return
        known = self._known(optimizer)
        if isinstance(known.reader, ByHand):
            return
        with self._engine.own_work():
            known.reader.before(None if closure else [one.grad for one in known.parameters])

    def _leave_to_optimizers(self) -> None:
        """An optimizer steps: what is written otherwise are no steps, and the first few that were found are none."""
        found = [hand for hand in self._hands.values() if hand.steps]
        self._hands, self.place = {}, None
        for hand in found:
            self._optimizers.pop(id(hand), None)
            if hand.steps < WARM and not self._reading.first:
                self._history.begin_anew()
                self.step, self._begun, self._stepped = 0, False, set()
                self.row = np.full(0, np.nan, np.float32)

    def step_ended(self, optimizer: Any) -> None:
        """An optimizer has stepped: read the statistics in one read-back, and pass them to the triggers."""
        if self._safely(self._step_ended, optimizer):
            self._judge(self, optimizer)
            if self.before is not None and not self._depth:
                self._safely(self.before.step_begins)

    def _step_ended(self, optimizer: Any) -> bool:
        """Return whether the step was read."""
        if self._depth or id(optimizer) not in self._optimizers:
            return False  # or it began to step before it was watched
        self._stepped.add(id(optimizer))
        if self.step % self._every:
            self._losses.clear()
            self._clipped.clear()
            return False
        with self._engine.own_work():
            self._read(self._optimizers[id(optimizer)], optimizer)
        return True

    def clipped(self, norm: Any, bound: float) -> None:
        """Gradients of a norm were scaled down to a bound."""
        if not self._depth:
            self._clipped.append((norm, bound))

    def scaled(self, scale: Any) -> None:
        """Losses are scaled from now on."""
        self._scale = scale

    # -- rows

    def close(self) -> None:
        """Write the row of the last step."""
        with self._engine.own_work():
            for hand in (one for one in self._hands.values() if one.closes()):
                self._step_begins(hand, closure=False)
                self._step_ended(hand)
        self._next_step()

    def values_before(self) -> list[tuple[Any, Any]]:
        """Return the parameters that have stepped, each with its value before the step."""
        stepped = [known for key, known in self._optimizers.items() if key in self._stepped]
        return [pair for known in stepped for pair in known.values()]

    def trained_by(self, optimizer: Any) -> Trained:
        """Return what an optimizer holds."""
        return self._optimizers[id(optimizer)]

    def figures(self, optimizer: Any) -> tuple[list[str], Array]:
        """Return the names of an optimizer's parameters, and their statistics ``[len(MEASURED), parameters]``."""
        known = self._optimizers[id(optimizer)]
        return known.names, self.row[known.places]

    def set_by(self, optimizer: Any) -> str:
        """Return the scheduler of an optimizer, with the line that makes it; nothing if none was seen."""
        found = self._schedulers.get(id(optimizer))
        return found[1] if found is not None and found[0]() is optimizer else ""

    def scheduled(self, scheduler: Any, optimizer: Any, frame: FrameType | None) -> None:
        """A scheduler is made for an optimizer."""
        made = f"{type(scheduler).__name__}, made{at(source_line(frame))}"
        self._schedulers[id(optimizer)] = (Reference(optimizer), made)

    @property
    def engine(self) -> Engine:
        """The engine it listens to."""
        return self._engine

    def losses_again(self) -> list[float]:
        """Return the losses of the step that was run again."""
        return [self._engine.number(one) for one in self._again]

    def set(self, column: Column, value: float) -> None:
        """Set a statistic of the current step."""
        place = self._history.places([column])[0]
        self._fit()
        self.row[place] = value

    def value(self, figure: str, owner: str = "") -> float:
        """Return a statistic of the current step."""
        place = self._history.places([Column(figure, owner)])[0]
        self._fit()
        return float(self.row[place])

    @contextmanager
    def repeating(self) -> Iterator[None]:
        """Run a step again in a block: nothing that happens then is measured."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def _next_step(self) -> None:
        """Write the row of the step that is over, and begin another."""
        self._begun = True
        if not self.step % self._every and self._stepped:
            self._history.append(self.step, self.row)
        self.step += 1
        self._stepped = set()
        self.exact = []
        self.row = np.full(len(self._history.columns), np.nan, np.float32)

    def _known(self, optimizer: Any) -> Trained:
        """Return what is known of an optimizer; anew where its parameters are others now."""
        known = self._optimizers.get(id(optimizer))
        parameters = held_by(optimizer)
        if known is None or not known.is_still(parameters):
            given = {id(one): name for known in self._optimizers.values() for one, name in known.named()}
            names = names_of(self._engine, parameters, {**self._reading.names, **given}, given, getframe())
            self.modes.follow(self._engine, parameters, getframe())
            reader = optimizer if isinstance(optimizer, ByHand) else self._engine.reader(parameters)
            known = self._optimizers[id(optimizer)] = Trained(reader, parameters, names, self._history)
        return known

    def _read(self, known: Trained, optimizer: Any) -> None:
        """Fill in the statistics of one optimizer's step."""
        losses = [(name, value) for name, values in self._losses.items() for value in values]
        others = [value for _, value in losses] + [norm for norm, _ in self._clipped]
        if self._scale is not None and self._engine.is_tensor(self._scale):
            others.append(self._scale)
        if self.step % _COUNTED == 1:
            self.modes.note()
        figures, numbers = known.reader.after(others)
        self._fit()
        self.row[known.places] = figures
        if not isinstance(optimizer, ByHand):
            rates = (float(group["lr"]) for group in optimizer.param_groups if "lr" in group)
            self.set(Column("rate"), max(rates, default=0))
        self._note_losses([name for name, _ in losses], numbers)
        self.exact += numbers[: len(losses)]
        for (_, bound), norm in zip(self._clipped, numbers[len(losses) :], strict=False):
            self.set(Column("clip"), min(1.0, bound / (norm + 1e-6)))
        if self._scale is not None:
            self.set(Column("scale"), numbers[-1] if self._engine.is_tensor(self._scale) else float(self._scale))
        self._losses.clear()
        self._clipped.clear()
        now = time.perf_counter()
        self.set(Column("seconds"), now - self._began)
        self._began = now
        self.set(Column("memory"), memory_used(self._engine))
        for figure, value in zip(GraphSize._fields, self._graph or (), strict=False):
            self.set(Column(figure), float(value))
        self.set(Column("peak"), greatest_memory())

    def _note_losses(self, names: list[str], numbers: list[float]) -> None:
        """Note the mean of each loss, and of the last of them as the loss of the step."""
        by_name: dict[str, list[float]] = {}
        for name, value in zip(names, numbers, strict=False):
            by_name.setdefault(name, []).append(value)
        for name, values in by_name.items():
            mean = sum(values) / len(values)
            self.set(Column("loss", "" if len(by_name) == 1 and len(self._optimizers) == 1 else name), mean)
            self.set(Column("loss"), mean)

    def _fit(self) -> None:
        """Widen the row where columns were added."""
        missing = len(self._history.columns) - len(self.row)
        if missing:
            self.row = np.concatenate([self.row, np.full(missing, np.nan, np.float32)])
