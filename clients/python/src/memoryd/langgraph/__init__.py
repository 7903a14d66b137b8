"""Stores of LangGraph that keep their items in memoryd. Needs `memoryd[langgraph]`."""

from ._store import AsyncMemorydStore, MemorydStore

__all__ = ["AsyncMemorydStore", "MemorydStore"]
