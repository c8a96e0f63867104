"""What one visitor has of the server: the model, room for K and V, a place where runs are saved."""

import secrets
from weakref import WeakSet

import msgspec

from engine.config import EngineConfig
from engine.sources.saved import Saved, SavedRuns
from views.limits import MIN_BLOCKS, server_limits
from views.loading import Loader, load_default_model
from views.origin import Origin
from views.runs import Run
from views.saving import Saving
from views.text import Text


class Share:
    """Of all desks of a visitor. Runs are known weakly: one that is gone takes nothing any more."""

    def __init__(self, saved: SavedRuns | None = None, loader: Loader | None = None) -> None:
        self.saved = saved or SavedRuns(server_limits().runs, server_limits().space)
        self.loader = loader or Loader(load_default_model)
        self.name = secrets.token_hex(8)  # by it a browser sees that it has another session
        self._runs: WeakSet[Run] = WeakSet()

    def pool_bytes(self, leaving: Run | None = None) -> int:
        """Of all runs that have an engine; `leaving` is about to go and does not count."""
        return sum(
            run.live.pool_bytes for run in self._runs if run.live is not None and run is not leaving
        )

    def check_pool(
        self, config: EngineConfig, bytes_per_block: int, text: Text, *, leaving: Run | None = None
    ) -> None:
        """ConfigError with a sentence if another pool is more than a visitor's share."""
        held = self.pool_bytes(leaving)
        server_limits().check_pool(config, bytes_per_block, text, held=held)

    def fitted(
        self, config: EngineConfig, bytes_per_block: int, text: Text
    ) -> tuple[EngineConfig, str]:
        """With fewer blocks where so many do not fit, and a sentence that says so; as it is where
        even the smallest pool is too much."""
        limits, held = server_limits(), self.pool_bytes()
        fits = limits.num_blocks_that_fit(bytes_per_block, held)
        if not MIN_BLOCKS <= fits < config.num_blocks:
            return config, ""
        values = {"most": limits.max_pool_bytes, "held": held, "wanted": config.num_blocks}
        said = text("limit.fitted_held" if held else "limit.fitted", fits=fits, **values)
        return msgspec.structs.replace(config, num_blocks=fits), said

    def take(
        self,
        run: Run,
        example: str,
        *,
        origin: Origin | None = None,
        came_from: Saved | None = None,
    ) -> None:
        """From here on this run counts, and is saved as it grows; nothing is written yet."""
        self._runs.add(run)
        run.saving = Saving(self.saved, run, example, origin=origin, came_from=came_from)
