"""A real browser for the tests: Chromium driven through ChromeDriver by the WebDriver protocol.

The protocol is JSON over HTTP; the few commands that the tests of the page need take the place of a client library.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

# CI sets this: a missing browser is a failure there and a skip elsewhere.
BROWSER_REQUIRED = os.environ.get("RETROGRAD_REQUIRE_BROWSER") == "1"
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars"
)
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the name that the protocol gives to references of elements
SPECIAL_KEYS = {
    "Enter": "\ue007",
    "Escape": "\ue00c",
    "ArrowDown": "\ue015",
    "ArrowRight": "\ue014",
    "ArrowLeft": "\ue012",
}


class Browser:
    """One session of a browser."""

    def __init__(self, port: int, profile: Path, flags: str = "") -> None:
        self._root = f"http://127.0.0.1:{port}/session"
        options = {
            "browserName": "chrome",
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            "goog:chromeOptions": {
                "binary": shutil.which("chromium"),
                "args": [*FLAGS.split(), *flags.split(), f"--user-data-dir={profile}", "--window-size=1400,900"],
            },
        }
        self._session = ""
        made = self.call("POST", "", {"capabilities": {"alwaysMatch": options}})
        self._session = f"/{made['sessionId']}"

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Send one command of the protocol; an error it reports fails the test."""
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self._root + self._session + path, data, method=method)
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"]) from None

    def open(self, page: Path, mark: str = "") -> None:
        """Load a page from its file and wait until it says that it is ready."""
        self.call("POST", "/url", {"url": "about:blank"})
        self.logs("performance")
        self.call("POST", "/url", {"url": page.as_uri() + mark})
        self.wait("document.documentElement.dataset.ready === 'yes'")

    def run(self, script: str) -> Any:
        """Return the value of a JavaScript expression."""
        return self.call("POST", "/execute/sync", {"script": f"return {script};", "args": []})

    def wait(self, condition: str, seconds: float = 120) -> None:
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + seconds
        while not self.run(condition):
            assert time.monotonic() < end, f"never true: {condition}; console: {self.logs('browser')}"
            time.sleep(0.02)

    def next_frame(self) -> None:
        """Wait until the page has drawn: media queries tell their listeners then, before callbacks of the frame."""
        script = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));"
        self.call("POST", "/execute/async", {"script": script, "args": []})

    def press(self, *keys: str) -> None:
        """Press keys where the focus is, as a person does: "j", "Enter", "?"."""
        codes = [SPECIAL_KEYS.get(key, key) for key in keys]
        actions = [{"type": kind, "value": code} for code in codes for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def click(self, x: float, y: float, times: int = 1) -> None:
        """Press the mouse at a point of the window."""
        there = {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)}
        press = [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.call(
            "POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [there, *press * times]}]}
        )

    def move_to(self, x: float, y: float) -> None:
        """Move the mouse to a point of the window, without pressing it."""
        there = {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)}
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [there]}]})

    def type(self, selector: str, text: str) -> None:
        """Type into an element."""
        element = self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]
        self.call("POST", f"/element/{element}/value", {"text": text})

    def logs(self, kind: str) -> list[dict[str, Any]]:
        """Return and empty a log: "browser" (the console) or "performance" (what the page loads)."""
        return list(self.call("POST", "/se/log", {"type": kind}))

    def requests(self) -> list[str]:
        """Return the addresses that were asked for since the last call."""
        events = [json.loads(entry["message"])["message"] for entry in self.logs("performance")]
        return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]

    def picture(self, file: Path) -> None:
        """Save a screenshot."""
        file.write_bytes(base64.b64decode(self.call("GET", "/screenshot")))


@contextmanager
def browser(folder: Path, flags: str = "") -> Iterator[Browser]:
    """Start ChromeDriver and a browser with an empty profile; skip where there is none, fail where one must be."""
    driver = shutil.which("chromedriver")
    if driver is None or shutil.which("chromium") is None:
        reason = "no Chromium with ChromeDriver on this machine (Debian: apt-get install chromium chromium-driver)"
        if BROWSER_REQUIRED:
            pytest.fail(f"RETROGRAD_REQUIRE_BROWSER=1 but there is {reason}")
        pytest.skip(reason)
    process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield from _session(process, folder / "profile", flags)
    finally:
        process.terminate()
        process.communicate(timeout=300)


def _session(process: subprocess.Popen[str], profile: Path, flags: str) -> Iterator[Browser]:
    """Wait for the driver to name its port, then open a session and close it in the end."""
    assert process.stdout is not None
    for line in process.stdout:
        if "successfully on port " in line:
            port = int(line.rpartition("on port ")[2].strip(" .\n"))
            made = Browser(port, profile, flags)
            try:
                yield made
            finally:
                made.call("DELETE", "")
            return
    raise AssertionError(f"ChromeDriver ended with {process.wait()} before it named its port")
