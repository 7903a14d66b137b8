"""Names of `typing` that Python 3.10 lacks.

Imported at runtime too, so that `typing.get_type_hints` resolves the hints of methods.
"""

from __future__ import annotations

import sys

if sys.version_info >= (3, 11):
    from typing import Self, Unpack
else:
    # httpx installs it for Python 3.10.
    from typing_extensions import Self, Unpack

__all__ = ["Self", "Unpack"]
