"""Counted things and lists of them, as parts of other sentences: their words in English."""

MESSAGES: dict[str, str] = {
    # Counts
    "count.steps.one": "{n} step",
    "count.steps.other": "{n} steps",
    "count.requests.one": "{n} request",
    "count.requests.other": "{n} requests",
    "count.tokens.one": "{n} token",
    "count.tokens.other": "{n} tokens",
    "count.blocks.one": "{n:,} block",
    "count.blocks.other": "{n:,} blocks",
    # Lists
    "list.long": "{head} … {tail} ({n})",
    "list.comma": ", ",
    "list.stop": ".",
    "list.space": " ",
    "list.quotes": "“{words}”",
    "pool.summary.one": "{used:,} of {usable:,} usable blocks in use, {free:,} free, {n:,} hash remembered",
    "pool.summary.other": "{used:,} of {usable:,} usable blocks in use, {free:,} free, {n:,} hashes remembered",
}
