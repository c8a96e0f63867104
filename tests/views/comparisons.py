"""What the tests of the page on comparing ask: both sides of a workload, and what is drawn of them."""

from views.comparing import half, start_of
from views.figures.compare.compare import compare
from views.figures.compare.compare_frames import pictures
from views.figures.compare.compare_inputs import Setting
from views.text import Text
from views.workloads import MATERIALS

TEXT = Text("en")


def halves(name, left=None, right=None):
    """Both sides; without settings as the workload comes."""
    material = MATERIALS[name] if isinstance(name, str) else name
    start = start_of(material)
    other = material.right.over(start) if right is None else start
    one = half(material, Setting(**(left or {})), start, TEXT)
    return one, half(material, Setting(**(right or {})), other, TEXT)


def drawn(name, left=None, right=None):
    return compare(*halves(name, left, right), TEXT)


def said(page):
    return [(line["step"], line["text"], line["because"]) for line in page["reasons"]["lines"]]


def total(page, key):
    row = next(row for row in page["totals"] if row["key"] == key)
    return (*row["values"], row["better"])


def frames_of(side):
    return [frame for _, frame in pictures(side.trace)]


def expanded(flat):
    return [n for start, stop in zip(*[iter(flat)] * 2, strict=True) for n in range(start, stop)]
