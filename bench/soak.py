"""`make soak`: hours of random clicking, in real Chromiums on one real server.

Four browsers, an hour, a fixed seed. Each looks at what can be used on the page it is on, takes
one of that and uses it: buttons, tabs, blocks and tokens, the slider, keys, links to other pages,
sometimes a reload or the Back button. An exception in a page's script or in the server's log, a
page that says it failed, and a lost connection end it with an error. So does a server that holds
over a tenth more at the end than after the warm-up, when everything has been there once (medians of
a fifth of the rest each, since runs of a visitor come and go; Linux).
"""

import argparse
import json
import random
import re
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.app_server import APP, Served, server
from bench.measure import machine, rounded
from bench.ui import MODEL_SETTLED

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
SIZES = ((1440, 900), (390, 844))
PAGES = ("playground", "compare", "sizing", "fragmentation")
KEYS = (
    "ArrowRight",
    "ArrowLeft",
    "Shift+ArrowRight",
    "Shift+ArrowLeft",
    "Home",
    "End",
    " ",
    "Escape",
)
WARM_UP = 0.1  # of the time, and until those who left at its start are forgotten
SECONDS_TO_FORGET = 150  # 60 s of Streamlit's, 45 s until it is collected, and some more
MAX_GROWTH_PERCENT = 10.0
MODEL_MS = 120_000
SETTLE_MS = 150
OPEN_MS = 60_000
FAILED = re.compile("This page could not be drawn|Failed to process a Websocket message")
BAD_LOG = re.compile(r"Traceback \(most recent call last\)|could not be drawn|^\S*Error: ", re.M)

# What can be used now, also inside of components; `act` uses the one of that number.
REACH = """
window.reachable = () => {
  const found = [], look = (root) => {
    for (const node of root.querySelectorAll("*")) {
      if (node.shadowRoot) look(node.shadowRoot);
      if (!node.matches("button, [role=tab], [role=radio], [role=slider], input[type=range], select, canvas, summary")) continue;
      const box = node.getBoundingClientRect();
      if (box.width && box.height && !node.disabled && !node.closest("[data-testid=stToolbar]")) found.push(node);
    }
  };
  look(document);
  return found;
};
window.act = (share, other) => {
  const all = reachable(), node = all[Math.floor(share * all.length)];
  if (!node) return "nothing";
  const told = () => node.dispatchEvent(new Event("input", { bubbles: true })) && node.dispatchEvent(new Event("change", { bubbles: true }));
  if (node.matches("input[type=range]")) { node.value = Number(node.min) + other * (node.max - node.min); told(); }
  else if (node.matches("select")) { node.selectedIndex = Math.floor(other * node.options.length); told(); }
  else node.click();
  return `${node.tagName.toLowerCase()} ${(node.getAttribute("aria-label") ?? node.textContent ?? "").slice(0, 60)}`;
};
null;
"""


class Walker:
    """One browser, and what was done in it."""

    def __init__(self, browser: Any, url: str, seed: int) -> None:
        self.errors: list[str] = []
        self.done: list[str] = []
        self._drawn = random.Random(seed)
        width, height = SIZES[seed % len(SIZES)]
        self._context = browser.new_context(viewport={"width": width, "height": height})
        self._page = self._context.new_page()
        self._page.set_default_timeout(OPEN_MS)
        self._page.on("pageerror", lambda error: self.errors.append(f"script: {error}"))
        self._page.on("console", self._hear)
        self._url = url
        self._open(PAGES[0])

    def act(self) -> None:
        """One thing that a visitor might do."""
        share, page = self._drawn.random(), self._page
        if share < 0.02:
            self._open(self._drawn.choice(PAGES))
        elif share < 0.03:
            self._tell("reload", lambda: page.reload())
        elif share < 0.04:
            self._tell("back", lambda: page.go_back())
        elif share < 0.30:
            key = self._drawn.choice(KEYS)
            self._tell(f"key {key}", lambda: page.keyboard.press(key))
        else:
            at = (self._drawn.random(), self._drawn.random())
            page.evaluate(REACH)
            self.done.append(page.evaluate(f"act({at[0]}, {at[1]})"))
        page.wait_for_timeout(SETTLE_MS)
        if (failed := FAILED.search(page.inner_text("body"))) is not None:
            self.errors.append(f"page: {failed.group()}")

    def await_model(self) -> None:
        """What it takes is there before anything is measured."""
        self._page.get_by_text(MODEL_SETTLED).wait_for(timeout=MODEL_MS)

    def last_deeds(self) -> str:
        return " > ".join(self.done[-5:])

    def close(self) -> None:
        self._context.close()

    def _open(self, name: str) -> None:
        self._tell(f"open {name}", lambda: self._page.goto(f"{self._url}/{name}"))
        self._page.locator("[data-testid=stApp]").wait_for()

    def _tell(self, what: str, do: Any) -> None:
        self.done.append(what)
        do()

    def _hear(self, said: Any) -> None:
        if FAILED.search(said.text):
            self.errors.append(f"console: {said.text[:200]}")


class Held:
    """What the server's process held over time, in MB; 0 where the system does not say."""

    def __init__(self, seconds: float) -> None:
        self._warm_s = max(WARM_UP * seconds, min(SECONDS_TO_FORGET, seconds / 2))
        self._window_s = (seconds - self._warm_s) / 5
        self._looks: list[tuple[float, float]] = []

    def look(self, at_s: float, mb: float) -> None:
        self._looks.append((at_s, mb))

    @property
    def warm_mb(self) -> float:
        return self._median(self._warm_s, self._warm_s + self._window_s)

    @property
    def end_mb(self) -> float:
        last_s = self._looks[-1][0] if self._looks else 0.0
        return self._median(last_s - self._window_s, last_s)

    @property
    def growth_percent(self) -> float:
        return 100 * (self.end_mb / self.warm_mb - 1) if self.warm_mb and self.end_mb else 0.0

    def sentence(self) -> str:
        return (
            f"the server held {self.warm_mb:.0f} MB after the warm-up and {self.end_mb:.0f} MB at "
            f"the end: {self.growth_percent:.0f} % more, where {MAX_GROWTH_PERCENT:.0f} % are allowed"
        )

    def _median(self, start_s: float, stop_s: float) -> float:
        found = [mb for at_s, mb in self._looks if start_s <= at_s <= stop_s]
        return statistics.median(found) if found else 0.0


def soak(
    chromium: Any, served: Served, *, minutes: float, browsers: int, seed: int, log: Path
) -> dict[str, Any]:
    """Click until the time is over or something went wrong; what was found."""
    held, errors, num_acts = Held(60 * minutes), [], 0
    walkers = [Walker(chromium, served.url, seed + number) for number in range(browsers)]
    walkers[0].await_model()
    began, until = time.monotonic(), time.monotonic() + 60 * minutes
    while time.monotonic() < until and not errors:
        for walker in walkers:
            walker.act()
            num_acts += 1
            errors += [f"{error} (after {walker.last_deeds()})" for error in walker.errors]
            held.look(time.monotonic() - began, served.resident_mb)
        errors += logged_errors(log)
    for walker in walkers:
        walker.close()
    if held.growth_percent > MAX_GROWTH_PERCENT and not errors:
        errors.append(held.sentence())
    return {
        "minutes": rounded((time.monotonic() - began) / 60),
        "browsers": browsers,
        "seed": seed,
        "acts": num_acts,
        "mb_warm": rounded(held.warm_mb),
        "mb_end": rounded(held.end_mb),
        "growth_percent": rounded(held.growth_percent),
        "errors": errors,
    }


def logged_errors(log: Path) -> list[str]:
    """The first exception that the server wrote down, with its last line."""
    text = log.read_text(encoding="utf-8", errors="replace")
    found = BAD_LOG.search(text)
    return [f"server: {text[found.start() : found.start() + 1500]}"] if found else []


def _chromium() -> str:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        raise SystemExit("there is no chromium on this machine (Debian: apt-get install chromium)")
    return path


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--browsers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "server.log"
        with log.open("wb") as out, server(APP, log=out) as served, sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=_chromium(), args=FLAGS)
            found = soak(chromium, served, **vars(options), log=log)
    print(f"Soak, {machine()}: {found['acts']} acts")
    print(f"  {found['mb_warm']} MB after the warm-up, {found['mb_end']} MB at the end")
    for sentence in found["errors"][:3]:
        print(f"  {sentence}")
    print(json.dumps({**found, "errors": len(found["errors"])}))
    raise SystemExit(1 if found["errors"] else 0)


if __name__ == "__main__":
    main()
