"""Writing results: whole or not at all, where it was asked for, with sane permissions and clear errors."""

from __future__ import annotations

import io
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from recording_samples import diamond, recording

import retrograd
from retrograd.errors import NoGraphError, OutputError, UnknownFormatError, UsageError
from retrograd.inspect import output
from retrograd.inspect.output import save
from retrograd.inspect.recording.loading import load_recording
from retrograd.inspect.render import RenderOptions
from retrograd.inspect.writing import check_writable, write_output


@pytest.fixture
def umask() -> Iterator[None]:
    """The usual umask, whatever the machine's is."""
    old = os.umask(0o022)
    yield
    os.umask(old)


def refusal(content: str | bytes, path: Path | str) -> OutputError:
    """The error with which writing ends."""
    with pytest.raises(OutputError) as caught:
        write_output(content, str(path))
    assert caught.value.remedy
    assert "\n" not in str(caught.value)
    return caught.value


def test_text_and_bytes(tmp_path: Path) -> None:
    """Text is written as UTF-8 without translating line ends, bytes as they are."""
    write_output("損失\r\n", str(tmp_path / "a"))
    write_output(b"\x00\xff", str(tmp_path / "b"))

    assert (tmp_path / "a").read_bytes() == "損失\r\n".encode()
    assert (tmp_path / "b").read_bytes() == b"\x00\xff"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_pieces_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """Text that comes in pieces replaces a file when the last one is there; if making it fails, the old file stays."""
    path = tmp_path / "a"
    write_output(iter(["損", "失\n"]), str(path))

    def failing() -> Iterator[str]:
        yield "half"
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        write_output(failing(), str(path))

    assert path.read_text(encoding="utf-8") == "損失\n"
    assert [one.name for one in tmp_path.iterdir()] == ["a"]


def test_lone_surrogates_are_escaped(tmp_path: Path) -> None:
    """A name from an undecodable file name does not stop the write."""
    write_output("a\udc80b", str(tmp_path / "a"))

    assert (tmp_path / "a").read_text() == "a\\udc80b"


@pytest.mark.usefixtures("umask")
def test_permissions(tmp_path: Path) -> None:
    """A new file has the permissions of any new file, an old one keeps its own."""
    new, old = tmp_path / "new", tmp_path / "old"
    old.write_text("old")
    old.chmod(0o640)
    write_output("x", str(new))
    write_output("x", str(old))

    assert stat.S_IMODE(new.stat().st_mode) == 0o644
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert old.read_text() == "x"


def test_owner_stays(tmp_path: Path) -> None:
    """Root rewriting another's file does not take it away from them."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root can own files of others")
    path = tmp_path / "theirs"
    path.write_text("old")
    os.chown(path, 1234, 1234)
    write_output("new", str(path))

    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 1234)


def test_links_stay_links(tmp_path: Path) -> None:
    """Writing through a symbolic link changes the file it points to, wherever that is."""
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "file", tmp_path / "link"
    link.symlink_to(target)
    write_output("x", str(link))
    write_output("y", str(link))

    assert link.is_symlink()
    assert target.read_text() == "y"
    assert [path.name for path in target.parent.iterdir()] == ["file"]


def test_devices_and_pipes_are_written_in_place(tmp_path: Path) -> None:
    """A named pipe stays a pipe and delivers the content; /dev/null survives."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    write_output("through", str(pipe))
    write_output("gone", os.devnull)

    assert reader.communicate(timeout=300)[0] == b"through"
    assert pipe.is_fifo()
    assert not stat.S_ISREG(os.stat(os.devnull).st_mode)


def test_a_failed_write_leaves_everything_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the last step fails the old file is whole and no temporary file stays behind."""
    path = tmp_path / "graph.svg"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)

    assert "No space left" in str(refusal("new", path))
    assert path.read_text() == "old"
    assert [found.name for found in tmp_path.iterdir()] == ["graph.svg"]


def test_an_interrupted_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Control-C while writing leaves no half-written file."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_output("new", str(tmp_path / "graph.svg"))

    assert list(tmp_path.iterdir()) == []


def test_bad_places(tmp_path: Path) -> None:
    """A missing folder, a folder, a file used as a folder and an impossible name each get their sentence."""
    (tmp_path / "file").write_text("")
    for path, said in [
        (tmp_path / "nope" / "x.svg", "Make the folder"),
        (tmp_path, "Name a file in that folder"),
        (tmp_path / "file" / "x.svg", "Not a directory"),
        ("a\0b", "null"),
        (tmp_path / ("x" * 300), "too long"),
        ("", "Could not write ''"),
    ]:
        error = refusal("x", path)
        assert said in str(error)
        assert error.exit_code == 3
        with pytest.raises(OutputError, match=said):
            check_writable(str(path))


def test_folders_and_files_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What may not be written is refused before anything is written."""
    old = tmp_path / "old"
    old.write_text("old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere, so the refusal is played

    assert "Permission denied" in str(refusal("x", old))
    assert "Permission denied" in str(refusal("x", tmp_path / "new"))
    assert [found.name for found in tmp_path.iterdir()] == ["old"]


def test_a_full_device() -> None:
    """A full device is an error with a way out."""
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")

    assert "Free some space" in str(refusal("x", "/dev/full"))


def test_standard_output(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """``-`` is standard output, in order with what was printed, for bytes as well."""
    print("before", end=" ")
    write_output("損失 ", "-")
    write_output(b"\xff", "-")
    assert capfdbinary.readouterr().out == "before 損失 ".encode() + b"\xff"

    text_only = io.StringIO()
    monkeypatch.setattr(sys, "stdout", text_only)
    write_output("損失", "-")
    assert text_only.getvalue() == "損失"

    monkeypatch.setattr(sys, "stdout", None)
    assert "standard output" in str(refusal("x", "-"))


def test_a_reader_that_leaves_is_no_error() -> None:
    """A closed pipe is left to the caller, who ends quietly, as ``head`` expects."""
    reading, writing = os.pipe()
    os.close(reading)
    code = "import sys; from retrograd.inspect.writing import write_output\nwrite_output('x' * 10**6, '-')"
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=closed, stderr=subprocess.PIPE, text=True, timeout=300
        )

    assert "BrokenPipeError" in done.stderr
    assert "OutputError" not in done.stderr


def test_save_chooses_by_suffix(tmp_path: Path) -> None:
    """The suffix tells the format, ``fmt`` overrides it, and a standard output without either gets the tree."""
    made = recording(diamond())
    save(made, str(tmp_path / "a.dot"))
    save(made, str(tmp_path / "b.svg"), "json")
    save(made, os.fspath(tmp_path / "c.TXT"))

    assert (tmp_path / "a.dot").read_text().startswith("digraph")
    assert load_recording(str(tmp_path / "b.svg")) == made
    assert "├──" in (tmp_path / "c.TXT").read_text()


def test_save_takes_what_can_be_drawn(tmp_path: Path) -> None:
    """A graph by itself, a trace and a recording are drawn alike; of anything else it is said what to give."""
    weight = retrograd.tensor([1.0, 2.0], requires_grad=True)
    with retrograd.debug(level="graph") as trace:
        loss = (weight * weight).sum()
        loss.backward()
    for number, drawable in enumerate((retrograd.walk(loss), trace, trace.recording)):
        save(drawable, tmp_path / f"{number}.mmd")
        text = (tmp_path / f"{number}.mmd").read_text()
        assert ("MulBackward0" if number == 0 else '"mul<br/>') in text  # a walk does not know what was called
    with pytest.raises(UsageError, match=r"A Tensor cannot be drawn.*walk\(tensor\)"):
        save(loss, tmp_path / "loss.svg")
    assert not (tmp_path / "loss.svg").exists()


def test_save_to_standard_output(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """``-`` without a format is the tree."""
    save(recording(diamond()), "-")

    assert "├── Op0Backward0" in capsysbinary.readouterr().out.decode()


@pytest.mark.parametrize(
    ("path", "options", "error"),
    [
        ("x.foo", RenderOptions(), UnknownFormatError),
        ("x", RenderOptions(), UnknownFormatError),
        ("x.dot", RenderOptions(step=7), UsageError),
        ("x.txt", RenderOptions(color_by="nonsense"), UsageError),
        ("nope/x.dot", RenderOptions(), OutputError),
    ],
)
def test_save_that_fails_writes_nothing(
    path: str, options: RenderOptions, error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is wrong with path or options, no file appears."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error):
        save(recording(diamond()), path, options=options)

    assert list(tmp_path.iterdir()) == []


def test_save_without_graph(tmp_path: Path) -> None:
    """A recording without graph can be kept as JSON but not drawn."""
    save(recording(), str(tmp_path / "run.json"))
    with pytest.raises(NoGraphError):
        save(recording(), str(tmp_path / "run.dot"))

    assert [found.name for found in tmp_path.iterdir()] == ["run.json"]


def test_nothing_is_drawn_for_a_place_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The place is checked before the work of drawing."""

    class Never:
        name, suffixes, binary = "never", (".never",), False

        def render(self, *_: object) -> str:
            raise AssertionError("drew for nothing")

    monkeypatch.setattr(output, "renderer_for", lambda wanted: Never())
    with pytest.raises(OutputError):
        save(recording(diamond()), str(tmp_path / "nope" / "x.never"))


KILLED = """
import os, signal, sys
from retrograd.inspect.writing import write_output
def pieces():
    yield "x" * 100_000
    os.kill(os.getpid(), getattr(signal, sys.argv[2]))
write_output(pieces(), sys.argv[1])
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_a_signal_half_way_leaves_nothing_but_the_old_file(name: str, tmp_path: Path) -> None:
    """Where no code of ours runs any more, the system takes away what was written so far."""
    (tmp_path / "run.json").write_text("old")
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "run.json"), name], timeout=200)

    assert done.returncode == -getattr(signal, name)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("run.json", "old")]


@pytest.mark.parametrize("missing", ["O_TMPFILE", "/proc"])
def test_files_where_the_system_has_none_without_a_name(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are written beside their place then, with the permissions of any new file."""
    if missing == "O_TMPFILE":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    else:
        monkeypatch.setattr("retrograd.inspect.writing._OPEN_FILES", str(tmp_path / "none"))
    usual = tmp_path / "usual"
    usual.write_text("")
    write_output("text", str(tmp_path / "new"))

    assert (tmp_path / "new").read_text() == "text"
    assert (tmp_path / "new").stat().st_mode == usual.stat().st_mode
    assert sorted(file.name for file in tmp_path.iterdir()) == ["new", "usual"]
