import json
import os
from typing import TypeVar

from memoryd_client import AuthenticatedClient
from memoryd_client.api.memories import (
    export_memories,
    get_memory,
    import_memories,
    list_memories,
    recall_memories,
    store_memories,
)
from memoryd_client.api.service import download_backup
from memoryd_client.models import (
    ImportResponse,
    Memory,
    Metadata,
    MetadataFilter,
    RecallResult,
    ServiceError,
    StoreRequest,
)
from memoryd_client.types import UNSET, Unset

Data = TypeVar("Data")

URL = os.environ.get("MEMORYD_URL", "http://127.0.0.1:8090")


def connect(key: str | None) -> AuthenticatedClient:
    if key:
        return AuthenticatedClient(base_url=URL, token=key)
    # The functions require this class. Without a key, the service ignores the header and refuses an empty Authorization.
    return AuthenticatedClient(base_url=URL, token="", prefix="", auth_header_name="X-No-Key")


def get_data(response: Data | ServiceError | None) -> Data:
    """Returns the data of a response. Raises an error of the service."""
    if isinstance(response, ServiceError):
        raise RuntimeError(response.error.message)
    if response is None:
        raise RuntimeError("the response has no data")
    return response


def to_request(user_id: str, content: str, room: int) -> StoreRequest:
    return StoreRequest(user_id=user_id, content=content, metadata=Metadata.from_dict({"room": room}))


memoryd = connect(os.environ.get("MEMORYD_API_KEY"))
copy = connect(os.environ.get("MEMORYD_COPY_API_KEY"))

memories = [
    to_request("ada", "The light switch of the kitchen is behind the door.", room=1),
    to_request("ada", "The stove of the kitchen burns gas.", room=1),
    to_request("ada", "The light switch of the cellar is on the stairs.", room=2),
    to_request("grace", "The light switch of the hall glows at night.", room=1),
]
get_data(store_memories.sync(client=memoryd, body=memories))

kitchen = MetadataFilter.from_dict({"room": "1"})
recalled = get_data(
    recall_memories.sync(client=memoryd, query="Where is the light switch?", user_id="ada", metadata=kitchen)
)
results: list[RecallResult] = recalled.results
for result in results:
    print(f"recalled: {result.content}")

cursor: str | Unset = UNSET
while True:
    page = get_data(list_memories.sync(client=memoryd, user_id="ada", metadata=kitchen, limit=1, cursor=cursor))
    listed: list[Memory] = page.memories
    for memory in listed:
        print(f"listed: {memory.content}")
    cursor = page.next_cursor
    if cursor is UNSET:
        break

low_rooms = json.dumps({"metadata.room": {"$lt": 2}})
exported = get_data(export_memories.sync(client=memoryd, user_id="ada", filter_=low_rooms))
imported = import_memories.sync(client=copy, body=exported)
if isinstance(imported, ImportResponse):
    print(f"imported: {imported.imported_count}")

backup = get_data(download_backup.sync(client=memoryd))
print(f"backup: {backup.payload.read(15).decode()}")

unknown: Memory | ServiceError | None = get_memory.sync(client=memoryd, memory_id="unknown")
if isinstance(unknown, ServiceError):
    print(f"error: {unknown.error.code}")
