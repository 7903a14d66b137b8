"""Fixes three faults of generated clients. The generator runs this file in the folder of the client.

- An object in the query is sent as `room=1` instead of `metadata[room]=1`.
- A value None in it is left out, so that `forget_memories` forgets the memories of all rooms.
- A body that may be a list is compared with `isinstance(body, list[Item])`, which Python does not allow.
"""

import re
from pathlib import Path

for path in Path("api").rglob("*.py"):
    code = path.read_text()
    fixed = re.sub(
        r"params\.update\(json_(\w+)\)",
        # An empty value is refused. A value of another type, such as None, would be left out, and the filter with it.
        r'params.update({f"\1[{k}]": v if isinstance(v, (str, int, float)) else "" for k, v in json_\1.items()})',
        code,
    )
    fixed = re.sub(r"isinstance\(body, list\[.*\]\)", "isinstance(body, list)", fixed)
    if fixed != code:
        path.write_text(fixed)
