"""Questions that many checks, or the same one for many leaves, ask of a recording: each is answered once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar, cast

from .flow import Flow

Answer = TypeVar("Answer")
About = ParamSpec("About")


def answered_once(
    ask: Callable[Concatenate[Flow, About], Answer],
) -> Callable[Concatenate[Flow, About], Answer]:
    """Keep the answers to a question with the recording that it is asked of; who asks does not change them."""

    def answer(flow: Flow, /, *about: About.args, **named: About.kwargs) -> Answer:
        key = (ask, *about)
        if key not in flow.answers:
            flow.answers[key] = ask(flow, *about, **named)
        return cast("Answer", flow.answers[key])

    return answer
