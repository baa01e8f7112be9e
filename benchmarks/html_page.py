"""What the HTML page costs: CPU and memory to write it, its size, and in a real browser loading and panning.

    python benchmarks/html_page.py                       # 1,000, 10,000 and 100,000 nodes
    python benchmarks/html_page.py 1000000 --no-browser  # a million: writing only
    python benchmarks/html_page.py 100000 --graphs wide

Every page is written by a fresh process (peak memory is that process's) and opened in a fresh headless Chromium,
folded as a reader finds it and, as the hardest case, with folding off so that every node is a card on one sheet.
Needs Debian's chromium and chromium-driver.  Bars: 100,000 nodes 10 s of CPU and 1 GB, 1,000,000 nodes 90 s, 4 GB
and 15 MB; loading 0.5, 1 and 4 s for 1k, 10k and 100k nodes; panning 30 frames a second.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from browser import browser  # noqa: E402
from recording_samples import chain, graph, recording  # noqa: E402

from retrograd.inspect.graphs.graph import Graph  # noqa: E402
from retrograd.inspect.render import RenderOptions, renderer_for  # noqa: E402

LOAD_BARS = {1_000: 0.5, 10_000: 1.0, 100_000: 4.0}
CPU_BARS = {100_000: (10.0, 1000, 15.0), 1_000_000: (90.0, 4000, 15.0)}
PAN = """
(async () => {
  const frame = () => new Promise(requestAnimationFrame);
  retrograd.paint();
  while (retrograd.pending()) await frame();
  const begin = performance.now();
  let frames = 0;
  for (; performance.now() - begin < 1500; frames++) {
    retrograd.move(frames % 120 < 60 ? 9 : -9, frames % 80 < 40 ? 7 : -7);
    await frame();
  }
  window.frames_a_second = (1000 * frames) / (performance.now() - begin);
})()
"""


def wide(count: int) -> Graph:
    """Branches of three operators below one."""
    branches = range(2, count - 2, 3)
    return graph([(0, 1), *(edge for at in branches for edge in ((1, at), (at, at + 1), (at + 1, at + 2)))])


def dag(count: int) -> Graph:
    """Every node hangs below one or two of the sixty before it."""
    draw = random.Random(0).random
    edges = []
    for node in range(1, count):
        edges.append((max(0, node - 1 - int(draw() ** 2 * 30)), node))
        if draw() < 0.5:
            edges.append((max(0, node - 1 - int(draw() ** 2 * 60)), node))
    return graph(edges)


GRAPHS = {"chain": chain, "wide": wide, "dag": dag}


def write(name: str, count: int, flat: bool, file: str) -> None:
    """Write one page and print what it cost, as JSON."""
    made = recording(GRAPHS[name](count))
    began = time.process_time()
    text = renderer_for("html").render(made, RenderOptions(fold=() if flat else None))
    cost = time.process_time() - began
    assert isinstance(text, str)
    Path(file).write_text(text, encoding="utf-8")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(json.dumps({"cpu": cost, "memory": memory, "size": Path(file).stat().st_size / 1e6}))


def opened(file: Path, folder: Path) -> tuple[float, dict[str, float]]:
    """Return seconds until the page is ready and frames a second while panning: as opened, fitted, and near."""
    with browser(folder) as page:
        page.open(file)
        load = float(page.run("performance.getEntriesByName('ready')[0].startTime")) / 1000
        rates = {}
        for view, script in (("opened", "0"), ("whole", "retrograd.fit()"), ("near", "retrograd.zoom(4)")):
            page.run(f"(() => {{ {script}; window.frames_a_second = 0; {PAN} }})()")
            page.wait("window.frames_a_second > 0")
            rates[view] = float(page.run("window.frames_a_second"))
        assert page.logs("browser") == []
    return load, rates


def main() -> int:
    """Measure, print, and return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("nodes", nargs="*", type=int, default=[1_000, 10_000, 100_000])
    parser.add_argument("--graphs", nargs="*", default=list(GRAPHS), choices=GRAPHS)
    parser.add_argument("--no-browser", action="store_true", help="only write the pages")
    parser.add_argument("--write", nargs=4, metavar=("GRAPH", "NODES", "FLAT", "FILE"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.write:
        name, count, flat, file = asked.write
        write(name, int(count), flat == "flat", file)
        return 0
    missed = 0
    for count in asked.nodes:
        for name in asked.graphs:
            for form in ("folded", "flat"):
                missed += measure(name, count, form, browse=not asked.no_browser)
    return 1 if missed else 0


def measure(name: str, count: int, form: str, browse: bool) -> int:
    """Measure one page, print a line, and return how many bars it missed."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "page.html"
        command = [sys.executable, __file__, "--write", name, str(count), form, str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        cost = json.loads(done.stdout)
        words = [f"{cost['cpu']:.1f} s CPU, {cost['memory']:.0f} MB, file {cost['size']:.2f} MB"]
        bars = CPU_BARS.get(count, (float("inf"),) * 3)
        missed = sum(cost[key] > bar for key, bar in zip(("cpu", "memory", "size"), bars, strict=True))
        if browse:
            load, rates = opened(file, Path(place))
            words.append(
                f"loads in {load:.2f} s, frames a second " + ", ".join(f"{k} {v:.0f}" for k, v in rates.items())
            )
            missed += load > LOAD_BARS.get(count, float("inf"))
            missed += sum(rate < 30 for rate in rates.values())
    print(f"{name} {count:,} {form}: {'; '.join(words)}{'  BAR MISSED' if missed else ''}", flush=True)
    return missed


if __name__ == "__main__":
    sys.exit(main())
