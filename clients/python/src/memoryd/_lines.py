"""Splits bytes that arrive in chunks into lines."""

from __future__ import annotations

from .errors import InternalError

MAX_LINE_BYTES = 512 * 1024 * 1024
"""The longest lines are lines of an export: a memory with its complete text history, at most 128 MiB."""


class LineSplitter:
    """Splits chunks of UTF-8 into lines without line terminators. Only U+000A, also after U+000D, ends a line."""

    def __init__(self) -> None:
        self._pending: list[bytes] = []
        self._bytes = 0

    def split(self, chunk: bytes) -> list[str]:
        """Returns the lines that end in a chunk.

        Raises:
            InternalError: A line is longer than `MAX_LINE_BYTES`.
        """
        first, *more = chunk.split(b"\n")
        lines: list[str] = []
        self._pending.append(first)
        self._bytes += len(first)
        for following in more:
            lines.append(self._join())
            self._pending = [following]
            self._bytes = len(following)
        if self._bytes > MAX_LINE_BYTES:
            raise InternalError(
                f"a line of the response has more than {MAX_LINE_BYTES:,} bytes; check the address of the service"
            )
        return lines

    def end(self) -> list[str]:
        """Returns the last line, if it has no terminator."""
        last = self._join()
        self._pending = []
        return [last] if last else []

    def _join(self) -> str:
        return b"".join(self._pending).removesuffix(b"\r").decode("utf-8", "replace")
