"""The catalogue in Japanese: one module for each part of the pages.

Sentences are です・ます, labels are noun phrases. A half-width space stands between Japanese and Latin
letters or digits; brackets and punctuation are full-width. Settings, functions, metrics and the
values of enumerations stay as vLLM writes them: block_size, ref_cnt, schedule(), fcfs, NONE_HASH.
A key ends in `.one` only where one thing needs another sentence than many.

One word for one thing:

    block, block table, block pool      ブロック、ブロックテーブル、ブロックプール
    null block, hole, logical block     null ブロック、穴、論理ブロック
    slot, token, position               スロット、トークン、位置
    free queue, its head and tail       空きキュー (free queue)、先頭、末尾
    take, free (give up) a block        (空きキューから) 取る、解放する
    hold, share a block                 保持する、共有する
    hash, extra keys, parent            ハッシュ、追加キー (extra keys)、親
    register a hash, forget it          登録する、失う
    prefix cache, cached                プレフィックスキャッシュ、キャッシュ済み
    prefix tree                         プレフィックスツリー
    lookup, hit, miss, hit rate         ルックアップ、ヒット、ミス、ヒット率
    evict, eviction                     追い出す、追い出し
    reset the prefix cache              リセットする
    the documentation's example         公式の例
    request, prompt, answer             リクエスト、プロンプト、応答
    step, sub-step, moment, cursor      ステップ、サブステップ、時点、カーソル
    waiting queue (the line), running   待機キュー (waiting)、実行リスト (running)
    admit, schedule, preempt            受け入れる、スケジュールする、プリエンプトする
    token budget                        トークン予算
    prefill, decode, chunk, draft       プリフィル、デコード、チャンク、ドラフト
    attention window, sliding window    アテンションウィンドウ、スライディングウィンドウ
    KV-cache group, K and V             KV キャッシュグループ、K/V
    waste, internal, external           無駄、内部断片化、外部断片化
    run, branch, trace                  実行、分岐、トレース
    lesson, prediction                  レッスン、予測
"""
