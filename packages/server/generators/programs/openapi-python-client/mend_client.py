"""Mends two faults of generated clients. The generator runs this file in the folder of the client.

- An object in the query is sent as `room=1` instead of `metadata[room]=1`.
- A body that may be a list is compared with `isinstance(body, list[Item])`, which Python does not allow.
"""

import re
from pathlib import Path

for path in Path("api").rglob("*.py"):
    code = path.read_text()
    mended = re.sub(
        r"params\.update\(json_(\w+)\)",
        r'params.update({f"\1[{key}]": value for key, value in json_\1.items()})',
        code,
    )
    mended = re.sub(r"isinstance\(body, list\[.*\]\)", "isinstance(body, list)", mended)
    if mended != code:
        path.write_text(mended)
