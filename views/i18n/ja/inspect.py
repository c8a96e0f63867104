"""トレースファイルのページ。"""

MESSAGES: dict[str, str] = {
    "inspect.page": "トレース閲覧",
    "inspect.open": "トレースファイルを開く",
    "inspect.open_another": "別のファイルを開く",
    "inspect.drop": "このページのどこにでもドロップできます。.jsonl または .jsonl.gz、送信時 {most} MiB、展開後 {unfolded} MiB まで。このページのメモリにだけ置かれ、ほかには保存されません。",
    "inspect.invitation": "保存された実行を、すべてのステップ、すべてのブロック、ミスの理由まで、同じ画面で見られます。途中で切れたファイルや壊れたファイルも、読めるところまで開きます。",
    "inspect.example": "例を見る",
    "inspect.reading": "ファイルを読み込み中…",
    "inspect.unreadable": "ブラウザーがこのファイルを読めませんでした。",
    "inspect.problem": "一部のみ",
    "inspect.events.other": "{n:,} イベント",
    "inspect.pool": "{block_size:,} トークン × {num_blocks:,} ブロック",
    "inspect.scripted": "台本どおりのトークン、モデルなし",
    "inspect.link": "このリンクはファイル「{name}」の一時点を指します。ファイルは持ち主の手元にしかありません。ここで開くと、その時点に移動します。",
    "inspect.other_file": "リンクは「{name}」のものでした。これは別のファイルなので、最初から表示します。",
    # What can be wrong with an upload
    "inspect.not_sent": "ファイルが正しく届きませんでした。もう一度開いてください。",
    "inspect.cut": "ファイルは {size:,} バイトあり、全体を送れないため、冒頭だけを読みました：{problem}",
    "inspect.settings": "この実行の設定を解釈できません：{problem}",
    "inspect.too_many_blocks": "この実行のプールは {n:,} ブロックですが、描けるのは {most:,} ブロックまでです。",
    "inspect.rows_refused": "{problem}。読めたリクエストはすべて実行しました。",
    "inspect.mooncake": "Mooncake のトレースにあるのは長さとブロックのハッシュだけで、実行の記録はありません。そこで {rows:,} リクエストのうち、読めるものを先頭から {run}（上限 {most}）、台本で動くエンジンで実行しました。{tokens} トークンのブロックを {block_size} トークンに、1 秒を 1 ステップに置き換えています。プールの {num_blocks:,} ブロックは Pagewalk が決めた値です。",
    # Downloads
    "inspect.download": "ダウンロード",
    "inspect.from_playground": "プレイグラウンドの実行",
    "inspect.from_file": "開いたファイル（読めたところまで）",
    "inspect.no_run": "プレイグラウンドにはまだ実行がありません。",
    "inspect.trace_file": "トレースファイル (.jsonl.gz)",
    "inspect.perfetto_file": "Perfetto (.json)",
    "inspect.trace_hint": "起きたことのすべてをイベントごとに記録したもの。このページで開き直せます。",
    "inspect.perfetto_hint": "ステップ、リクエスト、ブロックを時間軸上のスライスとカウンターにしたもの。ui.perfetto.dev または chrome://tracing 用です。時刻は実行に記録があれば実時間、なければ 1 ステップ 1 ミリ秒です。",
}
