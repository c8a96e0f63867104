"""What a lesson's reader typed into the form "run it live"."""

from typing import Any

from lessons.changed import SETTINGS, Change
from views.drafts import whole_number
from views.text import Text


def read_change(sent: Any, text: Text) -> Change:
    """What stands in the form. ConfigError where a setting is no whole number."""
    fields = sent if isinstance(sent, dict) else {}
    settings = {
        name: whole_number(name, str(given), text)
        for name, given in dict(fields.get("settings", {})).items()
        if name in SETTINGS
    }
    prompts, outputs = (
        {str(id_): str(given) for id_, given in dict(fields.get(name, {})).items()}
        for name in ("prompts", "outputs")
    )
    return Change(settings, prompts, outputs)
