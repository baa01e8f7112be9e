"""Infers an operator's schema from the annotations of a Python function (``torch.library.infer_schema``)."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any, Final, NoReturn, Union

from ..core import dtypes
from ..core.devices import device
from ..overriding.tags import Tag, as_tags
from ..tensors.tensor import Tensor
from .schema import Argument

Mutated = str | Iterable[str]
_BASES: Final[dict[Any, str]] = {
    Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str",
    dtypes.dtype: "ScalarType", device: "Device",
}  # fmt: skip
_LISTABLE: Final = ("Tensor", "SymInt", "float", "bool", "Scalar")
_OPTIONAL_LISTS: Final = ("SymInt", "float", "bool", "Scalar")
_NUMBER: Final = frozenset((int, float, bool))
_PARAMETER_TYPES: Final = (
    "Tensor, int, float, bool, str, Number, dtype, device, Optional of these, List or Sequence of Tensor, "
    "Optional[Tensor], int, float, bool or Number, Optional of a List of numbers"
)
_RETURN_TYPES: Final = "Tensor, List[Tensor], int, float, bool, Number, None, or a Tuple of these"


class _Unsupported(Exception):
    """An annotation has no counterpart in a schema."""


def _union_members(annotation: Any) -> tuple[Any, ...] | None:
    if typing.get_origin(annotation) in (Union, types.UnionType):
        return typing.get_args(annotation)
    return None


def _base_text(annotation: Any) -> str:
    """The schema's name for a plain type or the union that means Number."""
    members = _union_members(annotation)
    if members is not None and frozenset(members) == _NUMBER:
        return "Scalar"
    try:
        return _BASES[annotation]
    except (KeyError, TypeError):
        raise _Unsupported from None


def _list_text(annotation: Any) -> str | None:
    """``X[]`` for a list or sequence of X, ``None`` for anything else."""
    if typing.get_origin(annotation) not in (list, collections.abc.Sequence):
        return None
    (item,) = typing.get_args(annotation)
    members = _union_members(item)
    if members is not None and type(None) in members:
        if _strip_none(members) is not Tensor:
            raise _Unsupported
        return "Tensor?[]"
    base = _base_text(item)
    if base not in _LISTABLE:
        raise _Unsupported
    return f"{base}[]"


def _strip_none(members: tuple[Any, ...]) -> Any:
    rest = tuple(m for m in members if m is not type(None))
    return rest[0] if len(rest) == 1 else Union[rest]  # noqa: UP007 - made at run time


def parameter_type(annotation: Any) -> str:
    """The schema type of a parameter's annotation; raises ``_Unsupported``."""
    members = _union_members(annotation)
    if members is not None and type(None) in members:
        inner = _strip_none(members)
        listed = _list_text(inner)
        if listed is not None and listed[:-2] not in _OPTIONAL_LISTS:
            raise _Unsupported
        return f"{listed or _base_text(inner)}?"
    return _list_text(annotation) or _base_text(annotation)


def _return_type(annotation: Any) -> str:
    if typing.get_origin(annotation) is list and typing.get_args(annotation) == (Tensor,):
        return "Tensor[]"
    text = _base_text(annotation)
    if text not in ("Tensor", "SymInt", "float", "bool", "Scalar"):
        raise _Unsupported
    return text


class _Inference:
    """One function whose schema is being worked out."""

    def __init__(self, function: Callable[..., Any], mutates: Mutated, tags: tuple[Tag, ...]) -> None:
        self.function = function
        self.signature = inspect.signature(function)
        self.mutates = mutates
        self.tags = tags
        self.writes: dict[str, str] = {}
        """Alias annotation by name of each written argument, in order."""

    def fail(self, what: str) -> NoReturn:
        raise ValueError(f"infer_schema(func): {what} Got func with signature {self.signature})")

    def resolved(self, annotation: Any) -> Any:
        """An annotation given as text is looked up where the function was written."""
        if not isinstance(annotation, str):
            return annotation
        try:
            return eval(annotation, self.function.__globals__)
        except Exception as error:
            self.fail(f"Unsupported type annotation {annotation}. It is not a type. ({error}).")

    def is_written(self, name: str, kind: str) -> bool:
        if self.mutates == "unknown":
            return kind.startswith("Tensor")
        return name in self.mutates

    def parameter(self, index: int, parameter: inspect.Parameter) -> str:
        """One parameter as the schema spells it, with its default and the mark of an argument that is written."""
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            self.fail("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.annotation is inspect.Parameter.empty:
            self.fail(f"Parameter {parameter.name} must have a type annotation.")
        annotation = self.resolved(parameter.annotation)
        try:
            kind = parameter_type(annotation)
        except _Unsupported:
            self.refuse_parameter(parameter.name, annotation)
        if self.is_written(parameter.name, kind):
            if not kind.startswith("Tensor"):
                self.fail(
                    f"Parameter {parameter.name} is in mutable_args but only Tensors or collections of Tensors "
                    "can be mutated"
                )
            self.writes[parameter.name] = f"(a{index}!)"
            kind = f"Tensor(a{index}!){kind[len('Tensor') :]}"
        return f"{kind} {parameter.name}{self.default(parameter)}"

    def refuse_parameter(self, name: str, annotation: Any) -> NoReturn:
        hint = ""
        if typing.get_origin(annotation) is tuple:
            members = [a for a in typing.get_args(annotation) if a is not Ellipsis]
            same = getattr(members[0], "__name__", members[0]) if len(set(members)) == 1 else "..."
            hint = (
                " We do not support Tuple inputs in schema. As a workaround, please try to use List instead. "
                f"For example, list[{same}].\n"
            )
        self.fail(f"Parameter {name} has unsupported type {annotation}.{hint} The valid types are: {_PARAMETER_TYPES}.")

    def default(self, parameter: inspect.Parameter) -> str:
        """A default value as the schema writes it, from ``=`` on; empty if there is none."""
        value = parameter.default
        if value is inspect.Parameter.empty:
            return ""
        if value is None or isinstance(value, int | float):
            return f"={value}"
        if isinstance(value, str):
            return f'="{value}"'
        if isinstance(value, dtypes.dtype):
            return f"={str(value).removeprefix('torch.')}"
        if isinstance(value, device):
            return f'="{value}"'
        return self.fail(f"Parameter {parameter.name} has an unsupported default value type {type(value)}.")

    def returned(self) -> str:
        """The return type in the schema."""
        annotation = self.signature.return_annotation
        if annotation is inspect.Signature.empty:
            self.fail("No return type annotation was provided. Please add one.")
        annotation = self.resolved(annotation)
        if self.tags and self.writes:
            self.check_tagged_return(annotation)
        if annotation is None:
            return "()"
        try:
            if typing.get_origin(annotation) is tuple:
                texts = [_return_type(a) for a in typing.get_args(annotation)]
                texts = self.aliased(texts)
                return f"(({texts[0]}))" if len(texts) == 1 else f"({', '.join(texts)})"
            return self.aliased([_return_type(annotation)])[0]
        except _Unsupported:
            self.fail(f"Return has unsupported type {annotation}. The valid types are: {_RETURN_TYPES}.")

    def aliased(self, texts: list[str]) -> list[str]:
        """In-place and out operators return what they wrote, and the schema says so."""
        if Tag.inplace not in self.tags and Tag.out not in self.tags:
            return texts
        return [f"Tensor{alias}" for alias in self.writes.values()]

    def check_tagged_return(self, annotation: Any) -> None:
        if Tag.inplace in self.tags and annotation is not Tensor:
            self.fail("torch.Tag.inplace requires the return annotation to be torch.Tensor.")
        members = typing.get_args(annotation) if typing.get_origin(annotation) is tuple else (annotation,)
        if Tag.out in self.tags and members != (Tensor,) * len(self.writes):
            self.fail(
                "torch.Tag.out requires the return annotation to match the mutable keyword-only Tensor arguments "
                f"{tuple(self.writes)}."
            )

    def check_tagged_arguments(self) -> None:
        """Refuse arguments that are written otherwise than the tags ``inplace`` and ``out`` say."""
        names, written = list(self.signature.parameters), tuple(self.writes)
        if Tag.inplace in self.tags and written != tuple(names[:1]):
            self.fail(
                "torch.Tag.inplace requires mutates_args to contain exactly the first positional argument, "
                f"got {written}."
            )
        if Tag.out not in self.tags:
            return
        kinds = [self.signature.parameters[name].kind for name in written]
        if any(kind is not inspect.Parameter.KEYWORD_ONLY for kind in kinds):
            self.fail("torch.Tag.out requires mutable arguments to be keyword-only.")
        if not written:
            self.fail("torch.Tag.out requires at least one mutable keyword-only Tensor argument.")

    def text(self) -> str:
        """The schema without the operator's name: ``(Tensor x, *, int k=3) -> Tensor``."""
        parts: list[str] = []
        starred = False
        for index, parameter in enumerate(self.signature.parameters.values()):
            if parameter.kind is parameter.KEYWORD_ONLY and not starred:
                parts.append("*")
                starred = True
            parts.append(self.parameter(index, parameter))
        if not isinstance(self.mutates, str):
            unknown = set(self.mutates) - set(self.signature.parameters)
            if unknown:
                self.fail(
                    f"{unknown} in mutates_args were not found in the custom op's signature. mutates_args should "
                    "contain the names of all args that the custom op mutates, or just the string 'unknown' if you "
                    "don't know."
                )
        self.check_tagged_arguments()
        return f"({', '.join(parts)}) -> {self.returned()}"


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: Mutated,
    op_name: str | None = None,
    tags: Tag | Iterable[Tag] | None = (),
) -> str:
    """The schema text of an annotated function, with ``op_name`` in front if given.

    ``mutates_args`` names the arguments that are written, or is ``"unknown"``: every tensor argument.
    ``ValueError`` names a missing or unsupported annotation or default.
    """
    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(
            "mutates_args must either be a sequence of the names of the arguments that are mutated "
            "or the string 'unknown'."
        )
    mutates = mutates_args if isinstance(mutates_args, str) else tuple(mutates_args)
    text = _Inference(prototype_function, mutates, as_tags(tags)).text()
    return text if op_name is None else op_name + text


def written_names(arguments: Iterable[Argument]) -> set[str]:
    """Names of the arguments that a schema says are written."""
    return {a.name for a in arguments if a.is_write}
