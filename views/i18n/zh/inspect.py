"""The page on trace files: its words in Chinese."""

MESSAGES: dict[str, str] = {
    "inspect.page": "检视",
    "inspect.open": "打开 trace 文件",
    "inspect.open_another": "打开另一个",
    "inspect.drop": "也可以把文件拖到本页任意位置：.jsonl 或 .jsonl.gz，传输时不超过 {most} MiB，解压后不超过 {unfolded} MiB。文件只为本页保存在内存中，不存到别处。",
    "inspect.invitation": "别人保存的一次运行，完整呈现：每一步、每个块、每个请求为什么没有命中。截断或部分损坏的文件，能读到哪里就打开到哪里。",
    "inspect.example": "看一个示例",
    "inspect.reading": "正在读取文件…",
    "inspect.unreadable": "浏览器无法读取这个文件。",
    "inspect.problem": "没有全部读出",
    "inspect.events.other": "{n:,} 个事件",
    "inspect.pool": "{num_blocks:,} 个块，每块 {block_size:,} 个 token",
    "inspect.scripted": "脚本给定的 token，没有模型",
    "inspect.link": "这个链接指向文件“{name}”，只有它的主人才有：在这里打开它，页面就会跳到那个时刻。",
    "inspect.other_file": "链接指向的是“{name}”；这是另一个文件，从头显示。",
    # What can be wrong with an upload
    "inspect.not_sent": "收到的文件与发出的不一致：请重新打开。",
    "inspect.cut": "文件有 {size:,} 字节，太大，无法整个发送，所以只读了开头：{problem}",
    "inspect.settings": "无法理解这次运行的设置：{problem}",
    "inspect.too_many_blocks": "这次运行的块池有 {n:,} 个块，最多只能画 {most:,} 个。",
    "inspect.rows_refused": "{problem}。能读取的请求都已运行。",
    "inspect.mooncake": "Mooncake trace 只有长度和块哈希，没有运行过程：这里用脚本引擎运行了 {rows:,} 个请求中能读取的前 {run} 个（最多 {most} 个）。原来 {tokens} 个 token 的块变成 {block_size} 个 token 的块，一秒变成一步，{num_blocks:,} 个块的块池由我们选定。",
    # Downloads
    "inspect.download": "下载",
    "inspect.from_playground": "演练场的运行",
    "inspect.from_file": "已打开的文件（读到的部分）",
    "inspect.no_run": "演练场还没有运行。",
    "inspect.trace_file": "trace 文件 (.jsonl.gz)",
    "inspect.perfetto_file": "Perfetto (.json)",
    "inspect.trace_hint": "发生的一切，逐个事件记录。本页可以重新打开它。",
    "inspect.perfetto_hint": "按时间排列的区间和计数器，供 ui.perfetto.dev 或 chrome://tracing 使用：步、请求、块。运行带有真实时间时用真实时间，否则一步算一毫秒。",
}
