"""Tables of vectors looked up by number."""

from __future__ import annotations

from typing import Any

from ...engine.methods import FUNCTIONS
from ...engine.switches.modes import no_grad
from ...engine.tensors.parameter import Parameter
from .. import functional, init
from ..module import Module


class _Table(Module):
    """The table and its start: standard normal, with zeros at ``padding_idx``."""

    weight: Any
    padding_idx: int | None
    num_embeddings: int
    embedding_dim: int

    def _table(self, given: Any, place: dict[str, Any], freeze: bool = False) -> None:
        rows, columns = self.num_embeddings, self.embedding_dim
        if given is None:
            self.weight = Parameter(FUNCTIONS["empty"](rows, columns, **place), requires_grad=not freeze)
            self.reset_parameters()
            return
        if list(given.shape) != [rows, columns]:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        self.weight = Parameter(given, requires_grad=not freeze)

    def _padding(self, index: int | None) -> int | None:
        rows = self.num_embeddings
        if index is not None and not -rows <= index < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        return index + rows if index is not None and index < 0 else index

    def reset_parameters(self) -> None:
        """Draw the table."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


class Embedding(_Table):
    """Vectors of a table by their numbers, any shape of numbers."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Any = None,
        _freeze: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = self._padding(padding_idx)
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self._table(_weight, {"device": device, "dtype": dtype}, _freeze)

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Look up."""
        return functional.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, **options: Any) -> Embedding:
        """A layer over a given table; ``freeze`` keeps it as it is."""
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        return cls(rows, columns, _weight=embeddings, _freeze=freeze, **options)

    def extra_repr(self) -> str:
        """Sizes, and options where they are not the usual ones."""
        return f"{self.num_embeddings}, {self.embedding_dim}" + _unusual(
            self, padding_idx=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, sparse=False
        )


class EmbeddingBag(_Table):
    """Sums, means or maxima of bags of vectors of a table."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, _weight: Any = None,
        include_last_offset: bool = False, padding_idx: int | None = None, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        self.mode, self.sparse, self.include_last_offset = mode, sparse, include_last_offset
        self.padding_idx = self._padding(padding_idx)
        self._table(_weight, {"device": device, "dtype": dtype})

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:  # noqa: A002
        """Look up and reduce; ``offsets`` say where bags start in a flat input."""
        return functional.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode,
            self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, **options: Any) -> EmbeddingBag:
        """A layer over a given table; ``freeze`` keeps it as it is."""
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        made = cls(rows, columns, _weight=embeddings, **options)
        made.weight.requires_grad = not freeze
        return made

    def extra_repr(self) -> str:
        """Sizes and mode, and options where they are not the usual ones."""
        said = f"{self.num_embeddings}, {self.embedding_dim}"
        said += _unusual(self, max_norm=None, norm_type=2, scale_grad_by_freq=False)
        return f"{said}, mode={self.mode!r}" + _unusual(self, padding_idx=None)


def _unusual(module: Module, **usual: Any) -> str:
    given = [(name, getattr(module, name)) for name in usual]
    return "".join(f", {name}={value}" for name, value in given if value != usual[name])
