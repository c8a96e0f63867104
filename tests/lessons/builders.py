"""A small lesson in a folder of its own, to be changed and looked at."""

from pathlib import Path

from lessons.library import LoadedLesson
from lessons.scaffold import create_lesson


class Draft:
    """A fresh lesson whose files a test rewrites."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = create_lesson("07-small", root)

    def replace(self, name: str, old: str, new: str) -> "Draft":
        path = self.folder / name
        content = path.read_text(encoding="utf-8")
        assert content.count(old) >= 1, old
        path.write_text(content.replace(old, new, 1), encoding="utf-8")
        return self

    def load(self) -> LoadedLesson:
        return LoadedLesson(self.folder)
