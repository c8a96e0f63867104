"""Files as a visitor might bring them, for the tests of what becomes of them."""

import base64
import json

from engine.trace.codec import encode_trace
from tests.trace.stories import old_file
from tests.views.runs import golden_trace
from views.opening import Upload, open_upload
from views.text import Text

TEXT = Text("en")
ROW = {"timestamp": 0, "input_length": 1100, "output_length": 3, "hash_ids": [0, 1, 2]}


def doc_file(*, compress=False):
    return encode_trace(golden_trace("doc_example"), compress=compress)


def old_doc_file():
    """Without checksums, so that a test can change what it says."""
    return old_file(golden_trace("doc_example"))


def open_bytes(content, name="run.jsonl", **fields):
    return open_upload(Upload(name, len(content), content, **fields), TEXT)


def rows(*changes):
    return b"".join(json.dumps({**ROW, **change}).encode() + b"\n" for change in changes)


def sent(content, name="run.jsonl"):
    coded = base64.b64encode(content).decode()
    return {"name": name, "num_bytes": len(content), "is_cut": False, "content": coded}
