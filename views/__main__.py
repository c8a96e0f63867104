"""`python -m views`: what `streamlit run app.py` does, with the first picture earlier.

Streamlit imports an app when the first browser has come. This imports what the first page needs
while that browser still loads. Options are Streamlit's: `python -m views --server.port 8502`.
"""

import importlib
import sys
import threading
from pathlib import Path

from streamlit.web import cli

from engine.errors import ConfigError
from views.limits import server_limits
from views.model_choice import server_model

APP = Path(__file__).parents[1] / "app.py"
# Without views.components: parts are registered with a running server.
SLOW_TO_IMPORT = (
    "PIL.Image",
    "views.session",
    "views.figures.tree",
    "views.figures.why",
    "views.figures.batch",
)


def main() -> None:
    """A setting of the server that is wrong ends it at once, with a sentence."""
    try:
        server_limits()
        server_model()
    except ConfigError as error:
        sys.exit(str(error))
    given = sys.argv[1:]
    script = [] if given and not given[0].startswith("-") else [str(APP)]
    threading.Thread(target=_import, name="import", daemon=True).start()
    sys.argv = ["streamlit", "run", *script, *given]
    cli.main()


def _import() -> None:
    for name in SLOW_TO_IMPORT:
        importlib.import_module(name)


if __name__ == "__main__":
    main()
