"""Saved runs, and what a server allows: their words in Chinese."""

MESSAGES: dict[str, str] = {
    # Saved runs
    "saved.gone": "链接所指的已保存运行不在了。旧的运行会定期清理；被截断的链接也找不到任何东西。",
    "saved.damaged": "无法打开已保存的运行：{reason}。",
    "saved.back.other": "页面重新打开了，运行已按保存时的样子恢复：完成了 {n:,} 步。",
    "saved.put_away": "这里原来是另一次运行（{requests}，{steps}）。它已保存。",
    "saved.closed": "运行 {number} 已关闭。它已保存。",
    "saved.bring": "找回它",
    "saved.bring_hint": "按保存时的样子，在最后完成的一步打开它。引擎重复它的过去，然后继续。",
    "notice_kind.away": "已收起",
    "saved.again.other": "这次运行已按保存时的样子找回：{n:,} 个已完成的步骤。",
    "saved.in_part": "它的文件有一部分已损坏（{reason}）。",
    "saved.stopped": "已停下：引擎还没有重走完这次运行的过去，所以还不能让它做什么。越过末尾再走一步，它就会继续。",
    "saved.waiting": "这次运行可以查看；模型就绪后就能继续。",
    "saved.full.other": "从现在起，这次运行不再保存：运行 {n:,} 步后，它已用完这里允许一次运行保存的 {most:,} 字节。运行会继续，链接能恢复已保存的部分。",
    "saved.disk.other": "从现在起，这次运行不再保存：{n:,} 步之后服务器无法写入（{reason}）。运行会继续，链接能恢复已保存的部分。",
    # What a server allows
    "limit.prompt": "提示词有 {n:,} 字节，本服务器最多接受 {most:,} 字节：请缩短。",
    "limit.upload": "文件传输时有 {n:,} 字节，本服务器最多接收 {most:,} 字节：请用 gzip 压缩，或拆成较短的运行。",
    "limit.pool": "num_blocks={num_blocks}、每块 {block_size} 个 token，K 和 V 要占 {needed:,} 字节，而本服务器给每位访客 {most:,} 字节：请把 num_blocks 降到 {fits}。",
    "limit.pool_held": "num_blocks={num_blocks}、每块 {block_size} 个 token，K 和 V 要占 {needed:,} 字节。本服务器给每位访客 {most:,} 字节，你的其他运行已占用 {held:,} 字节：请把 num_blocks 降到 {fits}，或关闭一个运行。",
    "limit.pool_none": "本服务器给每位访客 {most:,} 字节存放 K 和 V，你的其他运行已占用 {held:,} 字节，剩下的放不下一个每块 {block_size} 个 token 的块池：请关闭一个运行。",
    "limit.sessions.other": "本服务器同时服务 {n:,} 位访客，现在已满。请过一分钟再试：有人离开就有空位。",
    # A server that does not answer
    "away.title": "服务器没有响应",
    "away.asks": "此页面显示的是最后收到的内容。它会自动重试，你无需任何操作。",
    "away.saved": "你的运行已保存到最后一个完成的步骤，将从那里恢复。",
    "away.moment": "这是一个录制的运行，将恢复到此刻。",
    "away.address": "此页面地址所指的内容将会恢复。",
    "away.lost": "如果服务器重新启动，或断开超过一分钟，等待中的点击和尚未应用的设置就会丢失。",
    "away.back": "服务器已恢复响应",
    "away.back_more": "没有丢失任何内容。期间的点击现在会被执行。",
    "away.slow": "服务器正忙",
    "away.slow_more": "你的操作已保留，会尽快执行。",
    "away.renewed": "页面重新打开了",
    "away.renewed_more": "服务器已不记得这个页面：它重新启动过，或连接断开了一分钟以上。地址所指的内容已恢复；等待中的点击和尚未应用的设置已丢失。",
}
