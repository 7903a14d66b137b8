"""Client of memoryd, a memory service for AI agents.

Example:
    >>> from memoryd import F, Memory
    >>> with Memory("http://127.0.0.1:8090") as memory:
    ...     ada = memory.scope(user_id="ada")
    ...     ada.store("Ada is allergic to peanuts", tags=["health"])
    ...     ada.recall("Can Ada eat peanut butter?", filter=F.tag == "health").results[0].content
    'Ada is allergic to peanuts'
"""

from . import errors, models
from ._async.administration import AsyncAdministration
from ._async.client import AsyncMemory
from ._async.session import AsyncMemorySession
from ._async.stream import AsyncStream
from ._sync.administration import Administration
from ._sync.client import Memory
from ._sync.session import MemorySession
from ._sync.stream import Stream
from ._turns import SessionContext, Turn, estimate_tokens
from ._unset import UNSET
from ._version import VERSION
from .errors import (
    Conflict,
    Forbidden,
    InternalError,
    Invalid,
    MemorydError,
    MethodNotAllowed,
    NotFound,
    PayloadTooLarge,
    PreconditionFailed,
    RateLimited,
    Unauthorized,
    Unavailable,
    UnsupportedMediaType,
)
from .filters import F, Filter

__version__ = VERSION

__all__ = [
    "UNSET",
    "Administration",
    "AsyncAdministration",
    "AsyncMemory",
    "AsyncMemorySession",
    "AsyncStream",
    "Conflict",
    "F",
    "Filter",
    "Forbidden",
    "InternalError",
    "Invalid",
    "Memory",
    "MemorySession",
    "MemorydError",
    "MethodNotAllowed",
    "NotFound",
    "PayloadTooLarge",
    "PreconditionFailed",
    "RateLimited",
    "SessionContext",
    "Stream",
    "Turn",
    "Unauthorized",
    "Unavailable",
    "UnsupportedMediaType",
    "__version__",
    "errors",
    "estimate_tokens",
    "models",
]
