"""最初のページ。"""

MESSAGES: dict[str, str] = {
    "home.page": "ホーム",
    "home.what": "本物の paged attention エンジンの動きを、その目で。すべてのトークンの K/V がどこにあるかを、ブロック単位で、vLLM 0.17.1 とまったく同じ管理のまま見られます。",
    "home.learn": "レッスン {n} を始める",
    "home.learn_on": "レッスン {n} を続ける",
    "home.learn_about": "少し読み、エンジンの次の動きを予測し、実際の動きで確かめます。モデルは不要です。",
    "home.play": "自分のプロンプトを試す",
    "home.play_about": "小さな言語モデルが目の前で応答します。進めて、戻して、分岐させ、なぜミスしたのかを調べられます。",
    "home.open": "トレースを開く",
    "home.open_about": "Pagewalk が書いたファイルを、途中で切れていても、同じ画面で再現します。比較やサイジングもここから。",
    "home.picture_about": "vLLM の公式ドキュメントの例を、エンジンで記録したものです。どのページの図も、こうした記録だけから描かれています。",
    "home.step": "ステップ {step}",
    "home_word.picture": "エンジンの実行を動画で",
    "home_word.pause": "一時停止",
    "home_word.play": "再生",
    "home_word.pool": "ブロックプール",
    "home_word.queue": "空きキュー",
    "home_word.head": "先頭 →",
    "home_word.tail": "← 末尾",
}
