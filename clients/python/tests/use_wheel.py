"""Uses the installed wheel, in an environment that has nothing else: `python -I use_wheel.py BYTES`."""

from __future__ import annotations

import os
import sys
import tempfile
from importlib.metadata import distribution, distributions, version
from pathlib import Path

import memoryd

sys.path.append(str(Path(__file__).parent))

from service import RUN_VARIABLE, Service

package = Path(memoryd.__file__).parent
assert package.is_relative_to(sys.prefix), package
assert (package / "py.typed").exists()
assert "Permission is hereby granted" in (distribution("memoryd").read_text("licenses/LICENSE") or "")

os.environ[RUN_VARIABLE] = "wheel"
with tempfile.TemporaryDirectory() as folder:
    service = Service(Path(folder))
    try:
        with memoryd.Memory(service.url) as memory:
            memory.scope(user_id="ada").store("Ada is allergic to peanuts")
            (result,) = memory.scope(user_id="ada").recall("peanuts").results
            assert result.content == "Ada is allergic to peanuts"
            assert memory.scope(user_id="ben").recall("peanuts").results == ()
    finally:
        service.stop()

size = f"{int(sys.argv[1]) / 1000:.0f} kB"
names = ", ".join(sorted(each.name for each in distributions()))
print(f"memoryd {version('memoryd')} ({size}) stores and recalls on Python {sys.version.split()[0]} with {names}")
