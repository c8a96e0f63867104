"""Counted things and lists of them, as parts of other sentences, in Chinese."""

MESSAGES: dict[str, str] = {
    # Counts
    "count.steps.other": "{n} 步",
    "count.requests.other": "{n} 个请求",
    "count.tokens.other": "{n} 个 token",
    "count.blocks.other": "{n:,} 个块",
    # Lists
    "list.long": "{head} … {tail}（共 {n} 个）",
    "list.comma": "，",
    "list.stop": "。",
    "list.space": "",
    "list.quotes": "“{words}”",
}
