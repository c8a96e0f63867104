"""The first page, in Chinese."""

MESSAGES: dict[str, str] = {
    "home.page": "首页",
    "home.what": "看一个真实的 paged attention 引擎如何思考：每个 token 的 key 和 value 放在哪里，逐块可见，与 vLLM 0.17.1 的做法完全一致。",
    "home.learn": "开始第 {n} 课",
    "home.learn_on": "继续第 {n} 课",
    "home.learn_about": "读一小段，预测引擎下一步做什么，再让它演示给你看。不需要模型。",
    "home.play": "输入自己的提示词",
    "home.play_about": "一个小语言模型当面作答。可以单步前进、后退、开分支，也可以问它为什么没有命中。",
    "home.open": "打开 trace",
    "home.open_about": "Pagewalk 写出的文件，完整的或截断的，都在同样的画面上重现。由此还可以去对比和估算容量。",
    "home.picture_about": "这是 vLLM 文档自己的示例，由引擎录制。每一页上的所有图都来自这样的记录。",
    "home.step": "第 {step} 步",
    "home_word.picture": "引擎的一次运行，以动画呈现",
    "home_word.pause": "暂停",
    "home_word.play": "播放",
    "home_word.pool": "块池",
    "home_word.queue": "空闲队列",
    "home_word.head": "队首 →",
    "home_word.tail": "← 队尾",
}
