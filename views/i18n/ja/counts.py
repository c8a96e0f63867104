"""数えたものと一覧。ほかの文の一部になる言葉。"""

MESSAGES: dict[str, str] = {
    # Counts
    "count.steps.other": "{n} ステップ",
    "count.requests.other": "{n} リクエスト",
    "count.tokens.other": "{n} トークン",
    "count.blocks.other": "{n:,} ブロック",
    # Lists
    "list.long": "{head} … {tail}（計 {n}）",
    "list.comma": "、",
    "list.stop": "。",
    "list.space": "",
    "list.quotes": "「{words}」",
}
