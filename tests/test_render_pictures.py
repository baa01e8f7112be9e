"""PNG and PDF by Graphviz: their own signatures, and one sentence where there is no Graphviz."""

from __future__ import annotations

import shutil
import struct
import zlib

import pytest
from recording_samples import diamond, hostile, recording

from retrograd.errors import LayoutError
from retrograd.inspect.render import RenderOptions, renderer_for

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")


@needs_dot
@pytest.mark.parametrize("snapshot", [diamond(), hostile()], ids=["diamond", "hostile"])
def test_png(snapshot: object) -> None:
    """The picture is a PNG whose chunks are whole and whose size is that of a drawing."""
    data = renderer_for("png").render(recording(snapshot), RenderOptions())  # type: ignore[arg-type]
    assert isinstance(data, bytes)
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    place, kinds = 8, []
    while place < len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        body = data[place + 4 : place + 8 + length]
        assert zlib.crc32(body) == struct.unpack(">I", data[place + 8 + length : place + 12 + length])[0]
        kinds.append(body[:4])
        place += 12 + length
    width, height = struct.unpack(">II", data[16:24])

    assert (kinds[0], kinds[-1]) == (b"IHDR", b"IEND")
    assert width > 50
    assert height > 100


@needs_dot
def test_pdf() -> None:
    """The page is a PDF from its head to its end mark."""
    data = renderer_for("a/b.pdf").render(recording(diamond()), RenderOptions())

    assert isinstance(data, bytes)
    assert data.startswith(b"%PDF-")
    assert data.rstrip().endswith(b"%%EOF")
    assert b"CreationDate" not in data
    assert data[int(data.rsplit(b"startxref", 1)[1].split()[0]) :].startswith(b"xref")


@pytest.mark.parametrize("fmt", ["png", "pdf"])
def test_without_graphviz(fmt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names what is missing and the formats that need nothing."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(LayoutError, match=r"no 'dot' on PATH.*\.svg or \.html"):
        renderer_for(fmt).render(recording(diamond()), RenderOptions())
