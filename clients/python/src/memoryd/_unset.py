"""The value of an argument that is left out."""

from __future__ import annotations

from enum import Enum
from typing import Final, TypeAlias


class Unset(Enum):
    """The type of `UNSET`. An enum, so that type checkers tell it from other values."""

    UNSET = "UNSET"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET
"""Leaves an argument out where None means "clear", such as `valid_to` of `Memory.update`."""

UnsetType: TypeAlias = Unset
