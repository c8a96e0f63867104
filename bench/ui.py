"""`make bench-ui`: from a click to the painted picture, in a real Chromium on the real server.

A run of scripted tokens fills about half of a pool of 64, 1,024 or 131,928 blocks. The clock runs in
the page: from the click on a button of the transport, or on the slider, until the words of the new
moment stand there and the frame with them was painted: a message that its animation callback posts
arrives right after that. The transport is drawn last, so everything else is there then.

The first picture is that of the first page of a server that has just answered its health check, in a
browser that was there before; the model begins to load behind it, and steps are taken once it is there.
"""

import argparse
import json
import random
import re
import shutil
import statistics
import time
from typing import Any

from bench.app_server import WITH_POOL, server
from bench.measure import OtherLoad, machine, percentile, print_table, rounded

POOLS = (64, 1_024, 131_928)
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
VIEWPORT = {"width": 1440, "height": 900}
LONG_MS = 60_000
MODEL_SETTLED = re.compile("Model ready|No model")

# Bytes that the server sends.
COUNT = """
window.received = 0;
window.WebSocket = class extends WebSocket {
  constructor(...args) {
    super(...args);
    this.addEventListener("message", ({ data }) => { received += data.byteLength ?? data.size; });
  }
};
"""
# Finds the transport through the shadow roots of the components.
FIND = """
window.deep = (selector) => { for (const host of document.querySelectorAll("*")) {
  const found = host.shadowRoot?.querySelector(selector); if (found) return found; } return null; };
window.painted = (act) => new Promise((done, fail) => {
  const where = deep(".where"), before = where.textContent, began = performance.now();
  setTimeout(() => fail(new Error(`no picture after "${before}"`)), 30000);
  const { port1, port2 } = new MessageChannel(), seen = new MutationObserver(() => {
    if (where.textContent === before) return;
    seen.disconnect(); requestAnimationFrame(() => port2.postMessage(null));
  });
  port1.onmessage = () => done(performance.now() - began);
  seen.observe(where, { childList: true, characterData: true, subtree: true }); act();
});
window.press = (name) => painted(() => deep(`button[data-name=${name}]`).click());
window.slide = (position) => painted(() => {
  const slider = deep("input.slider"); slider.value = position;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
});
null; // Playwright calls what ends in a function
"""


class Measured:
    """Milliseconds of one pool size."""

    def __init__(self) -> None:
        self.first_picture_s = 0.0
        self.steps_ms: list[float] = []
        self.jumps_ms: list[float] = []
        self.kb_per_step = 0.0


def measure(browser: Any, num_blocks: int, *, num_steps: int, num_jumps: int) -> Measured:
    found = Measured()
    with server(WITH_POOL, str(num_blocks)) as served:
        context = browser.new_context(viewport=VIEWPORT)
        page = context.new_page()
        page.add_init_script(COUNT)
        page.set_default_timeout(LONG_MS)
        began = time.perf_counter()
        page.goto(f"{served.url}/playground")
        page.locator(".where").wait_for()
        found.first_picture_s = time.perf_counter() - began
        page.get_by_text(MODEL_SETTLED).wait_for()
        page.evaluate(FIND)
        last = int(page.evaluate("Number(deep('input.slider').max)"))
        page.evaluate(f"slide({last // 2})")
        received = page.evaluate("received")
        for number in range(num_steps + 4):  # the first few warm up
            name = "forward" if number % 4 < 2 else "back"
            took = page.evaluate(f"press('{name}')")
            found.steps_ms += [took] if number >= 4 else []
        found.kb_per_step = (page.evaluate("received") - received) / (num_steps + 4) / 1000
        drawn = random.Random(0)
        at = last // 2
        for _ in range(num_jumps):
            at = (at + drawn.randrange(1, last)) % last  # never the place where it stands
            found.jumps_ms.append(page.evaluate(f"slide({at})"))
        context.close()
    return found


def percentiles(values: list[float]) -> dict[str, float]:
    return {"p50": rounded(statistics.median(values)), "p95": rounded(percentile(values, 0.95))}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.ui", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a third of the clicks")
    parser.add_argument("--pools", nargs="+", type=int, default=list(POOLS), metavar="NUM_BLOCKS")
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("there is no chromium on this machine (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    num_steps, num_jumps = (20, 12) if options.quick else (60, 40)
    load, found = OtherLoad(), {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        browser.new_page().goto("data:text/html,a browser that is running")
        for num_blocks in options.pools:
            found[num_blocks] = measure(
                browser, num_blocks, num_steps=num_steps, num_jumps=num_jumps
            )
        browser.close()
    _report(found, f"{num_steps} sub-steps, {num_jumps} jumps each; {machine()}")
    print(f"  {load.sentence()} (server and browser among them)")
    print(json.dumps(as_json(found)))


def _report(found: dict[int, Measured], method: str) -> None:
    rows = []
    for num_blocks, measured in found.items():
        step, jump = percentiles(measured.steps_ms), percentiles(measured.jumps_ms)
        first = rounded(measured.first_picture_s)
        moved = (step["p50"], step["p95"], jump["p50"], jump["p95"])
        rows.append((num_blocks, *moved, first, rounded(measured.kb_per_step)))
    header = ("blocks", "step p50 ms", "p95", "jump p50 ms", "p95", "first picture s", "kB a step")
    print_table("Click to painted picture", method, header, rows)


def as_json(found: dict[int, Measured]) -> dict[str, Any]:
    return {
        "step_ms": {str(size): percentiles(each.steps_ms) for size, each in found.items()},
        "jump_ms": {str(size): percentiles(each.jumps_ms) for size, each in found.items()},
        "kb_per_step": {str(size): rounded(each.kb_per_step) for size, each in found.items()},
        "first_picture_s": rounded(max(each.first_picture_s for each in found.values())),
    }


if __name__ == "__main__":
    main()
