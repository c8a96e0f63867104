"""`python -m tests.browser.letters`: the app on letters in the model's place, there at once."""

import sys

from tests.views import fake_live
from views import __main__

if __name__ == "__main__":
    sys.modules["engine.sources.live"] = fake_live
    __main__.main()
