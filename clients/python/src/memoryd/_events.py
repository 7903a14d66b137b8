"""Parses streams of events."""

from __future__ import annotations

import json
from datetime import datetime, timezone

from ._calls import decode_response
from ._lines import LineSplitter
from .models import ConsolidationEvent, GapEvent, ImportEvent, MemoriesEvent, MemoryEvent

_TYPES: dict[str, type[MemoryEvent]] = {
    "stored": MemoriesEvent,
    "updated": MemoriesEvent,
    "forgotten": MemoriesEvent,
    "recalled": MemoriesEvent,
    "consolidation": ConsolidationEvent,
    "import": ImportEvent,
    "gap": GapEvent,
}


class EventParser:
    """Parses server-sent events (HTML Living Standard, section 9.2.6)."""

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._data = ""

    def parse(self, chunk: bytes) -> list[MemoryEvent]:
        """Returns the events that end in a chunk, without events of types that this version does not know.

        Raises:
            InternalError: An event has a field of the wrong type.
        """
        events: list[MemoryEvent] = []
        for line in self._lines.split(chunk):
            if line.startswith("data:"):
                self._data += line.removeprefix("data:")
            if line or not self._data:
                continue
            data, self._data = self._data, ""
            event_type = _TYPES.get(_get_type(data))
            if event_type is not None:
                events.append(decode_response(event_type, data.encode()))
        return events


def _get_type(data: str) -> str:
    try:
        return str(json.loads(data)["type"])
    except (ValueError, TypeError, KeyError):
        return ""


def create_gap() -> GapEvent:
    """Returns a gap event: events may be missing up to now."""
    return GapEvent(id="", at=datetime.now(timezone.utc), type="gap")
