"""A visitor without a browser: a websocket that speaks Streamlit's protocol (1.67) as its page does."""

import asyncio
import json
import time
from typing import Any, NamedTuple

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

PATIENCE_S = 60.0
MODEL_S = 300.0  # until the model must be there
BETWEEN_LOOKS_S = 1.0  # as long as the model loads
PAGE = "playground"
TRANSPORT = "pagewalk_transport"  # the last part of a picture
ANSWERED = 2  # place in what a payload says of its drawing: the last wish that is done


class LostError(Exception):
    """The picture that was asked for did not come."""


class Shown(NamedTuple):
    """The transport as it was drawn last."""

    element_id: str
    fragment_id: str
    data: dict[str, Any]


class Visitor:
    """One tab of one browser, on the playground."""

    def __init__(self, url: str, query: str = "") -> None:
        self.errors: list[str] = []
        self.shown: Shown | None = None
        self._url = url
        self._query = query
        self._socket: Any = None
        self._reader: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()
        self._is_over = False
        self._sequence = 0
        self._number = 0  # of what was asked for in a letter: views/asked.py
        self._page = ""

    async def open(self) -> None:
        """Come, and wait until the stage is there."""
        address = f"ws{self._url.removeprefix('http')}/_stcore/stream"
        self._socket = await websockets.connect(
            address, origin=self._url, subprotocols=["streamlit"], max_size=None
        )
        self._reader = asyncio.create_task(self._read())
        until = time.monotonic() + MODEL_S
        while self.shown is None and time.monotonic() < until and not self.errors:
            self._is_over = False
            await self._rerun()
            await self._wait(lambda: self._is_over)
            if self.shown is None:
                await asyncio.sleep(BETWEEN_LOOKS_S)
        if self.shown is None:
            raise LostError(" ".join(("the stage was never drawn", *self.errors)))

    async def go(self, position: int) -> float:
        """Ask for a place as the transport does; the seconds until its picture had arrived."""
        assert self.shown is not None, "go() comes after open()"
        self._sequence = max(self._sequence + 1, int(time.time() * 1000))
        sequence, shown = self._sequence, self.shown
        target = {"position": position, "sequence": sequence, "run": shown.data["run"]}
        began = time.perf_counter()
        await self._rerun(shown, {"event": "target", "value": target})
        await self._wait(lambda: self.shown and self.shown.data["sequence"] >= sequence)
        return time.perf_counter() - began

    async def type(self, prompt: str) -> None:
        """Add a prompt of one's own to the run, and wait until it stands there."""
        assert self.shown is not None, "type() comes after open()"
        self._number += 1
        number, draft = self._number, {"text": prompt, "mode": "chat"}
        asked = [[number, "added", draft, PAGE]]
        await self._rerun(self.shown, {"event": "target", "value": {"page": "1", "asked": asked}})
        await self._wait(lambda: self.shown and self.shown.data["drawn"][ANSWERED] >= number)

    async def close(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
        if self._socket is not None:
            await self._socket.close()

    async def _rerun(self, shown: Shown | None = None, sent: Any = None) -> None:
        message = BackMsg()
        state = message.rerun_script
        state.query_string = self._query
        state.page_script_hash, state.page_name = self._page, "" if self._page else PAGE
        if shown is not None:
            state.fragment_id = shown.fragment_id
            widget = state.widget_states.widgets.add()
            widget.id = f"$$STREAMLIT_INTERNAL_KEY_{shown.element_id}__events"
            widget.json_trigger_value = json.dumps([sent])
        await self._socket.send(message.SerializeToString())

    async def _wait(self, happened: Any) -> None:
        async with self._news:
            try:
                await asyncio.wait_for(self._news.wait_for(happened), PATIENCE_S)
            except TimeoutError:
                raise LostError(f"no answer in {PATIENCE_S:.0f} s") from None

    async def _read(self) -> None:
        async for raw in self._socket:
            message = ForwardMsg()
            message.ParseFromString(raw)
            kind = message.WhichOneof("type")
            if kind == "delta":
                self._see(message.delta)
            elif kind == "navigation":
                self._page = message.navigation.page_script_hash
            self._is_over |= kind == "script_finished"
            async with self._news:
                self._news.notify_all()

    def _see(self, delta: Any) -> None:
        element = delta.new_element
        if element.WhichOneof("type") == "exception":
            self.errors.append(element.exception.message)
        elif element.WhichOneof("type") == "alert" and element.alert.format == element.alert.ERROR:
            self.errors.append(element.alert.body)
        elif element.bidi_component.component_name == TRANSPORT:
            component = element.bidi_component
            self.shown = Shown(component.id, delta.fragment_id, json.loads(component.bytes))
