"""PNG and PDF of our own drawing by typst, or by Graphviz where asked for, and one sentence where both are missing."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import shutil
import struct
import zlib

import pytest
from recording_samples import diamond, hostile, recording

from retrograd.errors import LayoutError
from retrograd.inspect.graphs.graph import Graph
from retrograd.inspect.render import RenderOptions, renderer_for
from retrograd.inspect.render.theme import DARK, LIGHT
from retrograd.inspect.render.typeset import sharpness

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
needs_typst = pytest.mark.skipif(importlib.util.find_spec("typst") is None, reason="typst is not installed")


def png(snapshot: Graph, **options: object) -> bytes:
    """The picture of a graph."""
    data = renderer_for("png").render(recording(snapshot), RenderOptions(**options))  # type: ignore[arg-type]
    assert isinstance(data, bytes)
    return data


def chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    """The parts of a PNG, each with a right checksum."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    place, found = 8, []
    while place < len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        body = data[place + 4 : place + 8 + length]
        assert zlib.crc32(body) == struct.unpack(">I", data[place + 8 + length : place + 12 + length])[0]
        found.append((body[:4], body[4:]))
        place += 12 + length
    return found


def colours(page: bytes) -> set[str]:
    """The colours that a PDF fills and draws with, as in a style sheet."""
    found = set()
    for stream in re.finditer(rb"stream\r?\n(.*?)\r?\nendstream", page, re.DOTALL):
        with contextlib.suppress(zlib.error):
            for shares in re.findall(rb"([\d.]+) ([\d.]+) ([\d.]+) scn", zlib.decompress(stream[1]), re.IGNORECASE):
                found.add("#" + "".join(f"{round(255 * float(share)):02x}" for share in shares))
    return found


@needs_typst
def test_png_is_our_drawing() -> None:
    """The picture is a whole PNG of twice the size of the SVG, and no empty one."""
    svg = renderer_for("svg").render(recording(diamond()), RenderOptions())
    width, height = map(float, re.search(r'width="([\d.]+)" height="([\d.]+)"', str(svg)).groups())  # type: ignore[union-attr]
    parts = chunks(png(diamond()))
    size = struct.unpack(">II", parts[0][1][:8])

    assert [abs(found - 2 * wanted) <= 2 for found, wanted in zip(size, (width, height), strict=True)] == [True] * 2
    assert parts[-1][0] == b"IEND"
    assert len(set(zlib.decompress(b"".join(body for name, body in parts if name == b"IDAT")))) > 100


@needs_typst
def test_pdf_is_our_drawing() -> None:
    """The page is a whole PDF without a date, twice the same, also of hostile names, in the colours of each theme."""
    first, second = (renderer_for("a/b.pdf").render(recording(hostile()), RenderOptions()) for _ in range(2))

    assert isinstance(first, bytes)
    assert first == second
    assert first.startswith(b"%PDF-")
    assert first.rstrip().endswith(b"%%EOF")
    assert b"CreationDate" not in first
    for theme, palette in (("light", LIGHT), ("dark", DARK)):
        page = renderer_for("pdf").render(recording(diamond()), RenderOptions(theme=theme))
        assert isinstance(page, bytes)
        assert {palette[name] for name in ("card", "rim", "op", "root", "ink")} <= colours(page)


def test_a_long_drawing_has_fewer_dots() -> None:
    """A drawing has two dots for a pixel, and of one that would have more than 60 million dots there are so many."""
    few, many = (
        sharpness(f'<svg width="{width}" height="{height}"') / 96 for width, height in ((900, 700), (3e3, 9e4))
    )

    assert few == 2
    assert 3e3 * 9e4 * many**2 == pytest.approx(60e6)


@needs_dot
def test_graphviz_draws_if_asked() -> None:
    """With ``--layout dot`` Graphviz makes a PNG, and a PDF that has no date and no broken offsets."""
    picture = png(diamond(), layout="dot")
    page = renderer_for("pdf").render(recording(diamond()), RenderOptions(layout="dot"))

    assert [name for name, _ in chunks(picture)][-1] == b"IEND"
    assert isinstance(page, bytes)
    assert b"CreationDate" not in page
    assert page[int(page.rsplit(b"startxref", 1)[1].split()[0]) :].startswith(b"xref")


@pytest.mark.parametrize("fmt", ["png", "pdf"])
def test_without_what_draws(fmt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names what is missing, the other way to have it, and the formats that need nothing."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(LayoutError, match=r"no 'dot' on PATH.*\.svg or \.html"):
        renderer_for(fmt).render(recording(diamond()), RenderOptions(layout="dot"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(LayoutError, match=r"typst.*retrograd\[pictures\].*--layout dot.*\.svg or \.html"):
        renderer_for(fmt).render(recording(diamond()), RenderOptions())
