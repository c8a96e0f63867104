"""`python -m tests.browser.letters`: the app on letters in the model's place.

They are there at once, or once the file exists that PAGEWALK_LETTERS_WAIT names. With
PAGEWALK_LETTERS_DTYPES their weights can be had in two dtypes.
"""

import os
import sys
import time
from pathlib import Path

from tests.views import fake_live
from views import __main__

if __name__ == "__main__":
    awaited, load = os.environ.get("PAGEWALK_LETTERS_WAIT"), fake_live.load_model

    def load_once_there(*given, **named):
        while awaited and not Path(awaited).exists():
            time.sleep(0.1)
        return load(*given, **named)

    fake_live.load_model = load_once_there
    if os.environ.get("PAGEWALK_LETTERS_DTYPES"):
        fake_live.load_model = lambda progress, **_: "fake:bfloat16"
        fake_live.dtypes_on_offer = lambda model, path: ("bfloat16", "4bit")
    sys.modules["engine.sources.live"] = fake_live
    __main__.main()
