"""Uses the installed packages `memoryd` and `memoryd-server`: `python -I use_wheels.py FOLDER`."""

import sys
from pathlib import Path

from memoryd import Memory

database = Path(sys.argv[1]) / "memory.db"
with Memory.local(database) as memory:
    ada = memory.scope(user_id="ada")
    ada.store("Ada is allergic to peanuts")
    ada.store("Ada plays the violin")
    # The query and the memory have no word in common.
    print(ada.recall("which snack is dangerous", top_k=1).results[0].content)
    print(memory.scope(user_id="ben").recall("which snack is dangerous").total)
