"""The model, loaded once for all visitors in a thread of its own while the page is already there."""

import gc
import importlib
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from engine.errors import PagewalkError
from engine.system import refusal_of
from views.limits import server_limits
from views.model_choice import server_model
from views.turns import Turns

SECONDS_BETWEEN_COLLECTIONS = 45
MOST_PROMPT_THREADS = 4  # pages are drawn meanwhile
Progress = Callable[[str, float], None]
Load = Callable[[Progress], Any]


class OtherForm(NamedTuple):
    """The same weights in another dtype; `dtypes`: that of the model that is there, then the other."""

    dtypes: tuple[str, str]
    load: Load


def load_default_model(progress: Progress) -> Any:
    """Torch is imported here, in the loader's thread, and nowhere before."""
    live, chosen = importlib.import_module("engine.sources.live"), server_model()
    return live.load_model(model=chosen.model, dtype=chosen.dtype, progress=progress, **_options())


def other_form(model: Any) -> OtherForm | None:
    """What a visitor may choose beside `model`, where its file stores 4 bits and the server lets them."""
    live, chosen = importlib.import_module("engine.sources.live"), server_model()
    dtypes = live.dtypes_on_offer(model, chosen.model) if chosen.offers_other else ()
    if not dtypes:
        return None

    def load(progress: Progress) -> Any:
        return live.load_beside(
            model, chosen.model, dtype=dtypes[1], progress=progress, **_options()
        )

    return OtherForm(dtypes, load)


def _options() -> dict[str, Any]:
    """Torch gets one thread: those of OpenMP wait for each other, and the pages are drawn on the same
    cores."""
    return {
        "num_threads": 1,
        "prompt_threads": min(MOST_PROMPT_THREADS, os.cpu_count() or 1),
        "known_steps_bytes": server_limits().max_known_steps_bytes,
    }


class Loader:
    """Knows how far the model is. Shared by every session; the thread never touches a page.

    Streamlit's collection after each click is off (config.toml), because with a model loaded it
    takes 0.2 to 0.4 s: what was loaded is frozen, and the rest is collected here now and then.
    """

    def __init__(
        self,
        load: Load,
        other: Callable[[Any], OtherForm | None] = lambda model: None,
        *,
        lock: Turns | None = None,
    ) -> None:
        """`other`: what of the loaded model is on offer besides; it is loaded when somebody asks, and
        takes its `lock` from here."""
        self.lock = lock or Turns()  # one forward pass at a time, whatever the weights
        self.dtypes: tuple[str, ...] = ()  # to choose between, the server's own first
        self.other: Loader | None = None
        self._find_other, self._is_first = other, lock is None
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

    def of(self, dtype: object) -> "Loader":
        """That of the weights in this dtype; this one where no other has them."""
        is_other = self.is_ready and dtype in self.dtypes[1:]
        return self.other if is_other and self.other is not None else self

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
        if (form := self._find_other(model)) is not None:
            self.other, self.dtypes = Loader(form.load, lock=self.lock), form.dtypes
        gc.collect()
        if self._is_first:  # later, frozen runs of visitors would never be freed
            gc.freeze()
            threading.Thread(target=_collect_for_ever, name="collector", daemon=True).start()
        return model

    def _report(self, stage: str, share: float) -> None:
        self.stage, self.share = stage, min(1.0, max(0.0, share))


def _collect_for_ever() -> None:
    while True:
        time.sleep(SECONDS_BETWEEN_COLLECTIONS)
        gc.collect()
