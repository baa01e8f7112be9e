"""States that are loaded into a module without an error, although next to nothing of them fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...recording.events import Event
from ..base import Case, Check, Kind, Stage
from ..facts.flow import Flow
from ..text.words import at, counted, listed

KINDS = {"state-not-loaded": Kind("a state was loaded of which a module has next to nothing", "error", Stage.STATEMENT)}


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each loaded state of which no entry fits, or only those without a prefix."""
    reported = set()
    for _, event in flow.of_kind("load"):
        data = event.data
        lost = data.get("missing_count", 0) and data.get("unexpected_count", 0)
        few = data.get("matched", 0) < data.get("unexpected_count", 0)
        if lost and event.source not in reported and (not data.get("matched") or (few and _prefix(event))):
            reported.add(event.source)
            yield _case(event)


CHECK = Check("unused", KINDS, find)


def _prefix(event: Event) -> tuple[str, str] | None:
    """Return the prefix of the state's names, and that of the module's, if all else is equal."""
    missing, unexpected = event.data.get("missing", ()), event.data.get("unexpected", ())
    for mine in missing[:1]:
        for theirs in unexpected:
            own, other = mine.split("."), theirs.split(".")
            while len(own) > 0 < len(other) and own[-1] == other[-1]:
                own, other = own[:-1], other[:-1]
            given, ours = "".join(f"{part}." for part in other), "".join(f"{part}." for part in own)
            if mine.removeprefix(ours) == theirs.removeprefix(given) and all(map(_beginning(given), unexpected)):
                return given, ours
    return None


def _beginning(prefix: str) -> Callable[[str], bool]:
    return lambda name: name.startswith(prefix)


def _case(event: Event) -> Case:
    """Return the case of one state."""
    data, prefix = event.data, _prefix(event)
    matched = data.get("matched", 0)
    of = f"{matched} of {matched + data['unexpected_count']}" if matched else f"none of {data['unexpected_count']}"
    why, remedy = "", "load a state with the names of this module, and look at missing_keys and unexpected_keys"
    if prefix is not None:
        given, ours = prefix
        why = f": they begin with {given!r} where the module's begin with {ours!r}"
        remedy = f"{{{ours!r} + name.removeprefix({given!r}): value for name, value in state.items()}}"
    return Case(
        kind="state-not-loaded",
        message=f"load_state_dict{at(event.source)} finds {of} entries of the state in {event.op} "
        f"({listed(data.get('unexpected', ()))} are not in it){why}; strict=False says nothing of that, and "
        f"{counted(data['missing_count'], 'entry').replace('entrys', 'entries')} of the module stay as they were made.",
        remedy=remedy,
        source=event.source,
        op="load_state_dict",
        evidence={"missing": list(data.get("missing", ())), "unexpected": list(data.get("unexpected", ()))},
    )
