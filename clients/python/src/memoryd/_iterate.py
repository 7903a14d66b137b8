"""The parts of iteration that differ between the asynchronous and the synchronous client."""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable
from typing import Any, TypeAlias, TypeVar

from .errors import Invalid, create_field_error

T = TypeVar("T")

AsyncItems: TypeAlias = AsyncGenerator[T, None]
Items: TypeAlias = Generator[T, None, None]
AnyAsyncIterable: TypeAlias = AsyncIterable[T] | Iterable[T]
"""Both kinds of iterables, which the asynchronous client accepts."""
AnyIterable: TypeAlias = Iterable[T]

CHUNK_BYTES = 64 * 1024
"""Size of the chunks in which a file is read."""


async def iterate_async(items: AsyncIterable[T] | Iterable[T]) -> AsyncItems[T]:
    """Iterates over both kinds of iterables."""
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


def iterate(items: Iterable[T]) -> Items[T]:
    """Iterates over an iterable."""
    yield from items


async def iterate_file_async(file: object) -> AsyncItems[bytes]:
    """Yields chunks of a file, from `to_file`, whose methods may be asynchronous."""
    source: Any = file
    if hasattr(source, "read"):
        while True:
            chunk = source.read(CHUNK_BYTES)
            if inspect.isawaitable(chunk):
                chunk = await chunk
            if not chunk:
                return
            yield _to_chunk(chunk)
    async for chunk in iterate_async(source):
        yield _to_chunk(chunk)


def iterate_file(file: object) -> Items[bytes]:
    """Yields chunks of a file, from `to_file`."""
    source: Any = file
    if hasattr(source, "read"):
        while chunk := source.read(CHUNK_BYTES):
            yield _to_chunk(chunk)
        return
    for chunk in source:
        yield _to_chunk(chunk)


def to_file(file: object) -> object:
    """Returns a file that is open, or an iterable of chunks.

    Raises:
        Invalid: The file is a path, or another object that has no bytes.
    """
    if isinstance(file, (bytes, bytearray, memoryview)):
        return [_to_chunk(file)]  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(file, (str, os.PathLike)) or not (
        hasattr(file, "read") or isinstance(file, (Iterable, AsyncIterable))
    ):
        raise create_field_error("file", "be bytes, chunks of bytes or an open file, such as open(path, 'rb')")
    return file  # pyright: ignore[reportUnknownVariableType]


def _to_chunk(chunk: object) -> bytes:
    if not isinstance(chunk, (bytes, bytearray, memoryview)):
        raise create_field_error("file", "have bytes; open it in binary mode, such as open(path, 'rb')")
    return bytes(chunk)  # pyright: ignore[reportUnknownArgumentType]


def require_items(name: str, items: object) -> None:
    """Raises `Invalid` for a single text, whose characters would be items, and for an object without items."""
    if isinstance(items, (str, bytes, bytearray)) or not isinstance(items, (Iterable, AsyncIterable)):
        raise Invalid(f"{name} must be an iterable, such as a list, but has the type {type(items).__name__}")


async def end_async(items: AsyncItems[T]) -> None:
    """Closes a generator. Does nothing while another task waits for its next item."""
    is_running: bool = getattr(items, "ag_running", False)
    if not is_running:
        await items.aclose()


def end(items: Items[T]) -> None:
    """Closes a generator. Does nothing while another thread waits for its next item."""
    # The generator is executing.
    with contextlib.suppress(ValueError):
        items.close()
