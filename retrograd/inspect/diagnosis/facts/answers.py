"""Caches answers to questions that several checks, or one check for several leaves, ask about a recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar, cast

from .flow import Flow

Answer = TypeVar("Answer")
About = ParamSpec("About")


def answered_once(
    ask: Callable[Concatenate[Flow, About], Answer],
) -> Callable[Concatenate[Flow, About], Answer]:
    """Cache the answers to a question with the recording."""

    def answer(flow: Flow, /, *about: About.args, **named: About.kwargs) -> Answer:
        key = (ask, *about)
        if key not in flow.answers:
            flow.answers[key] = ask(flow, *about, **named)
        return cast("Answer", flow.answers[key])

    return answer
