"""The model, loaded once for all visitors in a thread of its own while the page is already there."""

import gc
import importlib
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from engine.errors import PagewalkError
from engine.system import refusal_of
from views.limits import server_limits
from views.model_choice import server_model
from views.turns import Turns

SECONDS_BETWEEN_COLLECTIONS = 45
MOST_PROMPT_THREADS = 4  # pages are drawn meanwhile
Progress = Callable[[str, float], None]


def load_default_model(progress: Progress) -> Any:
    """Torch is imported here, in the loader's thread, and nowhere before. It gets one thread: those of
    OpenMP wait for each other, and the pages are drawn on the same cores."""
    live = importlib.import_module("engine.sources.live")
    chosen = server_model()
    return live.load_model(
        **chosen._asdict(),
        progress=progress,
        num_threads=1,
        prompt_threads=min(MOST_PROMPT_THREADS, os.cpu_count() or 1),
        known_steps_bytes=server_limits().max_known_steps_bytes,
    )


class Loader:
    """Knows how far the model is. Shared by every session; the thread never touches a page.

    Streamlit's collection after each click is off (config.toml), because with a model loaded it
    takes 0.2 to 0.4 s: what was loaded is frozen, and the rest is collected here now and then.
    """

    def __init__(self, load: Callable[[Progress], Any]) -> None:
        self.lock = Turns()  # one forward pass at a time
        self.stage = ""
        self.share = 0.0
        self._load = load
        self._future: Future[Any] | None = None
        self._starting = threading.Lock()

    def start(self) -> None:
        """Begin to load, unless that was done before."""
        with self._starting:
            if self._future is None:
                pool = ThreadPoolExecutor(1, thread_name_prefix="model")
                self._future = pool.submit(self._work)
                pool.shutdown(wait=False)

    def retry(self) -> None:
        with self._starting:
            if self.failure is not None:
                self._future = None
        self.start()

    @property
    def is_ready(self) -> bool:
        future = self._future
        return future is not None and future.done() and future.exception() is None

    @property
    def failure(self) -> str | None:
        """Why there is no model; None while it loads or once it is there."""
        future = self._future
        if future is None or not future.done():
            return None
        error = future.exception()
        if error is None or isinstance(error, PagewalkError):
            return None if error is None else error.sentence
        if isinstance(error, OSError) and error.errno:
            return refusal_of(error)
        return f"{type(error).__name__}: {error}"

    @property
    def model(self) -> Any:
        assert self.is_ready, "the model is not there yet"
        assert self._future is not None
        return self._future.result()

    def _work(self) -> Any:
        model = self._load(self._report)
        gc.collect()
        gc.freeze()
        threading.Thread(target=_collect_for_ever, name="collector", daemon=True).start()
        return model

    def _report(self, stage: str, share: float) -> None:
        self.stage, self.share = stage, min(1.0, max(0.0, share))


def _collect_for_ever() -> None:
    while True:
        time.sleep(SECONDS_BETWEEN_COLLECTIONS)
        gc.collect()
