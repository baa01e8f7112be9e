"""Record the page for the README: `python docs/make_recording.py` drives it in Chromium and writes `images/page.svg`.

Each frame is a screenshot after some keys or a press; the SVG holds them all and shows one after the other, so it moves
wherever pictures are shown, without a script. It needs Chromium with ChromeDriver, as the tests of the page do.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from browser import Browser, browser  # noqa: E402

PICTURE = ROOT / "docs" / "images" / "page.svg"
WIDTH, HEIGHT = 1400, 800
SECONDS = 2.6
"""How long a frame is seen."""
PROGRAM = """
import retrograd as torch
from retrograd import nn


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(8, 16)
        self.gate = nn.Linear(16, 16)
        self.decoder = nn.Linear(16, 8)

    def forward(self, x):
        h = torch.relu(self.encoder(x))
        weight = torch.sigmoid(self.gate(h)).detach()
        return self.decoder(h * weight)


torch.manual_seed(0)
net = Gated()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(3):
    x = torch.randn(4, 8)
    loss = ((net(x) - x) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

_LAST = "[...document.querySelectorAll('#outline [data-box]')].at(-1)"

# What is shown -> what is done before, as keys or a script.
FINDING: list[tuple[str, list[str], str]] = [
    ("retrograd trace train.py --level full -o page.html: values go down the lines, gradients come back up", [], ""),
    ("a finding lights the way from its cause to the loss", [], "document.querySelector('.findings button').click()"),
]
ENCODER: list[tuple[str, list[str], str]] = [
    ("twelve layers of a transformer are one box that shows one of them", [], ""),
    ("any of them can be turned to, also from the outline", [], f"{_LAST}.firstChild.click()"),
    ("the same graph as gradients go", ["v", "v", "Escape"], ""),
]


def trace(program: Path, *options: str) -> Path:
    """Write the page of a program."""
    page = program.with_suffix(".html")
    command = [sys.executable, "-m", "retrograd", "trace", program.name, *options, "-q", "-o", str(page)]
    subprocess.run(command, cwd=program.parent, check=True, stdout=subprocess.DEVNULL)
    return page


def frames(chromium: Browser, page: Path, scenes: list[tuple[str, list[str], str]]) -> list[tuple[str, str]]:
    """Go through what is done in a page; return words and picture of each frame."""
    chromium.open(page)
    found = []
    for words, keys, script in scenes:
        if script:
            chromium.run(script)
        for key in keys:
            chromium.press(key)
        chromium.next_frame()
        shot = {"cmd": "Page.captureScreenshot", "params": {"format": "webp", "quality": 72}}
        found.append((words, chromium.call("POST", "/goog/cdp/execute", shot)["data"]))
    return found


def moving(shots: list[tuple[str, str]]) -> str:
    """Return the SVG that shows the frames in turn."""
    share, whole = 100 / len(shots), SECONDS * len(shots)
    style = (
        f".f{{opacity:0;animation:turn {whole}s infinite}}"
        f"@keyframes turn{{0%,{share - 0.01:.2f}%{{opacity:1}}{share:.2f}%,100%{{opacity:0}}}}"
        "text{font:600 21px -apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:#1b2330}"
    )
    parts = [
        f'<g class="f" style="animation-delay:{number * SECONDS:.1f}s">'
        f'<image y="34" width="{WIDTH}" height="{HEIGHT}" href="data:image/webp;base64,{shot}"/>'
        f'<text x="8" y="23">{words}</text></g>'
        for number, (words, shot) in enumerate(shots)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT + 34}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT + 34}"><title>The page of a backward graph, in use</title>'
        f'<style>{style}</style><rect width="{WIDTH}" height="{HEIGHT + 34}" fill="#ffffff"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def main() -> None:
    """Make the recording."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "train.py"
        program.write_text(PROGRAM.lstrip(), encoding="utf-8")
        encoder = Path(folder) / "encoder.py"
        encoder.write_text((ROOT / "sample_graphs" / "encoder.py").read_text(encoding="utf-8"), encoding="utf-8")
        with browser(Path(folder) / "chromium", f"--window-size={WIDTH},{HEIGHT}") as chromium:
            size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
            chromium.call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": size})
            shots = frames(chromium, trace(program, "--level", "full"), FINDING)
            shots += frames(chromium, trace(encoder), ENCODER)
    PICTURE.write_text(moving(shots), encoding="utf-8")
    print(f"{PICTURE.name}: {PICTURE.stat().st_size / 1000:.0f} kB, {len(shots)} frames")


if __name__ == "__main__":
    main()
