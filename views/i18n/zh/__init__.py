"""The catalogue in Simplified Chinese: one module for each part of the pages.

Plain, short sentences; labels are noun phrases. A half-width space stands between Chinese and Latin
letters or digits; punctuation in sentences is full-width. Settings, functions, metrics and the
values of enumerations stay as vLLM writes them: block_size, ref_cnt, schedule(), fcfs, NONE_HASH.
A thing is named by its number behind it (块 5, token 3, 第 2 步) and counted with it in front
(5 个块, 3 个 token, 共 2 步). A key ends in `.one` only where one thing needs another sentence.

One word for one thing:

    block, block table, block pool      块、块表、块池
    null block, hole, logical block     null 块、空洞、逻辑块
    slot, token, position               槽位、token、位置
    free queue, its head and tail       空闲队列、队首、队尾
    take, free (give up) a block        取走、释放
    hold, share a block                 占用、共享
    hash, extra keys, parent            哈希、额外键 (extra keys)、父哈希
    register a hash, forget it          登记、清除
    prefix cache, cached                前缀缓存、在缓存中
    lookup, hit, miss, hit rate         查找、命中、未命中、命中率
    evict, eviction                     驱逐
    reset the prefix cache              重置前缀缓存
    request, prompt, answer             请求、提示词、回答
    step, sub-step, moment, cursor      步、子步、时刻、光标
    waiting queue (the line), running   等待队列 (排队)、运行
    admit, schedule, preempt            准入、调度、抢占
    token budget                        token 预算
    prefill, decode, chunk              prefill、decode、分段
    draft, drafter                      草稿 token、草稿模型
    attention window, sliding window    注意力窗口、滑动窗口
    full attention, chunked local       全注意力、分段局部
    KV-cache group, K and V             KV 缓存组、K 和 V
    waste, internal, external           浪费、内部碎片、外部碎片
    reserved, growing, compaction       预留、连续增长、紧缩
    run, branch, trace                  运行、分支、trace
    playground, lesson, prediction      演练场、课、预测
    chat template, workload             对话模板、负载
    kernel, tile, split                 内核、分片、拆分
"""
