"""The app with one more example on it: a pool of any size, well used. Only `make bench-ui` runs this.

streamlit run bench/ui_app.py -- NUM_BLOCKS
"""

import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from engine.config import EngineConfig  # noqa: E402  (the path has to be there first)
from views import examples  # noqa: E402

BLOCK_SIZE = 16
MAX_PROMPT_TOKENS = 16_384
NUM_NEW_TOKENS = 24


def example(num_blocks: int) -> examples.Example:
    """Scripted requests, half of each prompt shared, that fill half of a pool (of the largest,
    8,000 blocks): they come in pairs, so that some hit while others are computed."""
    num_requests = 4 if num_blocks < 512 else 8
    num_tokens = min(num_blocks * BLOCK_SIZE // 2 // num_requests, MAX_PROMPT_TOKENS)
    half = num_tokens // 2
    requests = [
        {
            "id": f"r{number}",
            "arrival_step": 2 * (number // 2),
            "prompt": [*range(1, half), *range(10**6 * (number + 1), 10**6 * (number + 1) + half)],
            "output": list(range(10**8 + 1000 * number, 10**8 + 1000 * number + NUM_NEW_TOKENS)),
        }
        for number in range(num_requests)
    ]
    config = EngineConfig(
        block_size=BLOCK_SIZE,
        num_blocks=num_blocks,
        max_num_batched_tokens=2048,
        max_num_seqs=num_requests,
        max_model_len=2 * MAX_PROMPT_TOKENS,
    )
    return examples.Example(config, script={"name": "bench_ui", "requests": requests})


examples.EXAMPLES[examples.DOC_EXAMPLE] = example(int(sys.argv[1]))
runpy.run_path(str(ROOT / "app.py"), run_name="__main__")
