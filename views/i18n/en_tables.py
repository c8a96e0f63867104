"""Words of the block tables."""

MESSAGES: dict[str, str] = {
    "tables.title": "Block tables",
    "tables.hint": "logical index above, physical block below",
    "tables.hint_lines": "logical index above, plus the number at the line",
    "tables.unfold": "Show all of this table",
    "tables.fold": "fold",
    "tables.empty": "No request holds a block.",
    "tables.hidden": "{n} more",
    "tables.holes": "{n} holes",
    "tables.group_size": "{name}, blocks of {size}",
    "tables.cell": "logical block {index} is block {block}",
    "tables.hole": "logical block {index} is a hole: its tokens left the attention window, and the null block stands there",
    "kv_group.full": "full attention",
    "kv_group.sliding": "sliding window {n}",
    "kv_group.chunked_local": "local chunks of {n}",
    "tables.cell_hit": "prefix hit",
    "rows.more.one": "and {n} more request",
    "rows.more.other": "and {n} more requests",
}
