"""The program `memoryd-server`: the command line of memoryd."""

import os
import signal
import subprocess
import sys
from typing import NoReturn

from memoryd_server import get_command


def main() -> NoReturn:
    """Runs the command line of memoryd with the arguments of this program. Signals, streams and exit code are its own."""
    command = get_command(*sys.argv[1:])
    if sys.platform == "win32":
        # Windows cannot replace a process. Ctrl+C reaches both processes; the service decides how to end.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.exit(subprocess.call(command))
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
