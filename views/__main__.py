"""`python -m views`: what `streamlit run views/serve.py` does, with the first picture earlier.

Streamlit imports an app when the first browser has come. This imports what the pages need while
that browser still loads. Options are Streamlit's: `python -m views --server.port 8502`.
"""

import importlib
import inspect
import pkgutil
import sys
import threading
import time
from pathlib import Path

from streamlit import runtime
from streamlit.web import cli

from engine.errors import ConfigError
from views.limits import server_limits
from views.model_choice import server_model

VIEWS = Path(__file__).parent
APP = VIEWS / "serve.py"
SWITCH_S = 0.001  # Python's own is 0.005: so long an answer waits for each turn of what imports
SLOW_TO_IMPORT = ("views.session", "streamlit.emojis", "numpy", "PIL.Image")


def main() -> None:
    """A setting of the server that is wrong ends it at once, with a sentence."""
    try:
        server_limits()
        server_model()
    except ConfigError as error:
        sys.exit(str(error))
    given = sys.argv[1:]
    script = [] if given and not given[0].startswith("-") else [str(APP)]
    sys.setswitchinterval(SWITCH_S)
    threading.Thread(target=_import, name="import", daemon=True).start()
    sys.argv = ["streamlit", "run", *script, *given]
    cli.main()


def _import() -> None:
    for name in (*SLOW_TO_IMPORT, *_modules("figures")):
        importlib.import_module(name)
    while not runtime.exists():  # the parts of the pages are registered with a server that runs
        time.sleep(0.02)
    for name in (*_modules("pages"), *_modules("widgets")):
        importlib.import_module(name)
    inspect.stack()  # finds the file of every module, which Streamlit's first element asks for


def _modules(room: str) -> list[str]:
    return [f"views.{room}.{each.name}" for each in pkgutil.iter_modules([str(VIEWS / room)])]


if __name__ == "__main__":
    main()
