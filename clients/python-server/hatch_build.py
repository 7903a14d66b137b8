"""Adds the built service and its production dependencies to the wheel, with the binaries of one platform."""

import json
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple, cast

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Platform(NamedTuple):
    """A platform for which all native libraries exist."""

    tag: str
    sqlite: str
    onnxruntime: str


# The tags are those of the most demanding library: SQLite needs glibc 2.34, ONNX Runtime macOS 14. ONNX Runtime has no
# library for musl and for macOS on Intel.
PLATFORMS = {
    "linux-x64": Platform("manylinux_2_34_x86_64", "linux-x64", "linux/x64"),
    "linux-arm64": Platform("manylinux_2_34_aarch64", "linux-arm64", "linux/arm64"),
    "macos-arm64": Platform("macosx_14_0_arm64", "darwin-arm64", "darwin/arm64"),
    "windows-x64": Platform("win_amd64", "win32-x64", "win32/x64"),
    "windows-arm64": Platform("win_arm64", "win32-arm64", "win32/arm64"),
}

SERVICE = "src/memoryd_server/service"

SYSTEMS = {"Linux": "linux", "Darwin": "macos", "Windows": "windows"}
PROCESSORS = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}

LICENCE_FILE = re.compile(r"^(licen[cs]e|copying|notice|third.?party)", re.IGNORECASE)
# Files that Node does not load: types, source maps, documents, sources of native code, tests.
UNUSED_FILE = re.compile(r"\.([cm]?ts|map|md|markdown|gyp|c|cc|cpp|h|hpp|tsbuildinfo)$|^\.", re.IGNORECASE)
UNUSED_FOLDERS = {".github", "test", "tests", "benchmark", "benchmarks", "example", "examples"}
# Needed only to compile native code.
UNUSED_PACKAGES = {"node-addon-api"}


class ServiceHook(BuildHookInterface[Any]):
    """Stages `memoryd_server/service` and sets the platform of the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        repository = Path(self.root).parent.parent
        if version == "editable":
            link_packages(Path(self.root) / SERVICE / "node_modules", repository / "node_modules")
            return
        target = PLATFORMS[get_platform()]
        if not (repository / "packages/server/dist/memoryd.js").exists():
            raise RuntimeError("the service is not built; run `npm ci && npm run build` in a clone of memoryd")
        staging = Path(self.directory) / "service"
        shutil.rmtree(staging, ignore_errors=True)
        metadata = cast("Any", self).metadata
        licences = set(metadata.core.license_expression.split(" AND "))
        packages = get_packages(repository)
        published = get_published_files(repository, [source for source in packages if is_workspace(source, repository)])
        for source, destination in packages.items():
            manifest = json.loads((source / "package.json").read_text("utf8"))
            name, licence = manifest["name"], manifest.get("license")
            if licence not in licences:
                raise RuntimeError(
                    f"{name} has the licence {licence}; read it, and add it to license in pyproject.toml"
                )
            files = published.get(name) or get_installed_files(source)
            copy_package(name, source, staging / destination, files, target)
        build_data["tag"] = f"py3-none-{target.tag}"
        build_data["pure_python"] = False
        build_data["force_include"][str(staging)] = "memoryd_server/service"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        shutil.rmtree(Path(self.directory) / "service", ignore_errors=True)


def link_packages(link: Path, packages: Path) -> None:
    """Makes an editable installation run the service of the clone."""
    link.parent.mkdir(exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(os.path.relpath(packages, link.parent), target_is_directory=True)


def get_platform() -> str:
    """Returns the key of the platform in `MEMORYD_SERVER_PLATFORM`, by default that of this machine."""
    machine = PROCESSORS.get(platform.machine().lower())
    name = os.environ.get("MEMORYD_SERVER_PLATFORM") or f"{SYSTEMS.get(platform.system())}-{machine}"
    if name not in PLATFORMS:
        raise RuntimeError(f"no wheel for {name}; set MEMORYD_SERVER_PLATFORM to one of {', '.join(PLATFORMS)}")
    return name


def get_packages(repository: Path) -> dict[Path, Path]:
    """Returns the installed packages that the service needs, with their paths in the wheel.

    The versions are those of package-lock.json, with which the tests run.
    """
    lock = json.loads((repository / "package-lock.json").read_text("utf8"))["packages"]
    listed = run_npm(repository, "ls", "--omit=dev", "--all", "--parseable", "--workspace", "packages/server")
    paths = [Path(line).relative_to(repository) for line in listed.splitlines()[1:]]
    links = {Path(lock[path.as_posix()]["resolved"]): path for path in paths if lock[path.as_posix()].get("link")}
    packages: dict[Path, Path] = {}
    for path in paths:
        entry = lock[path.as_posix()]
        if entry.get("optional") or path.name in UNUSED_PACKAGES:
            continue
        if entry.get("link"):
            packages[repository / entry["resolved"]] = path
            continue
        # A dependency in the folder of a workspace moves along with the workspace.
        owner = next((folder for folder in links if folder in path.parents), None)
        packages[repository / path] = links[owner] / path.relative_to(owner) if owner else path
    return packages


def copy_package(name: str, source: Path, destination: Path, files: list[Path], target: Platform) -> None:
    """Copies the files of a package that the service needs on a platform, and its licence."""
    licences = [path for path in files if LICENCE_FILE.match(path.name)]
    # The README of a package without a licence file names the licence.
    licences = licences or [path for path in files if path.name.lower() == "readme.md"]
    for path in {*licences, *(path for path in files if is_needed(name, path, target))}:
        (destination / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / path, destination / path)


def is_workspace(source: Path, repository: Path) -> bool:
    """Returns whether a package belongs to the repository. The others are dependencies."""
    return "node_modules" not in source.relative_to(repository).parts


def get_published_files(repository: Path, workspaces: list[Path]) -> dict[str, list[Path]]:
    """Returns the files of each workspace that npm would publish, by the name of the package."""
    options = [option for folder in workspaces for option in ("--workspace", str(folder))]
    packed = json.loads(run_npm(repository, "pack", "--dry-run", "--json", *options))
    return {package["name"]: [Path(file["path"]) for file in package["files"]] for package in packed}


def get_installed_files(source: Path) -> list[Path]:
    """Returns the files of a dependency, without nested packages."""
    files = (path.relative_to(source) for path in source.rglob("*") if path.is_file())
    return [path for path in files if "node_modules" not in path.parts]


def is_needed(package: str, path: Path, target: Platform) -> bool:
    """Returns whether the service loads a file of a package on a platform."""
    if UNUSED_FILE.search(path.name) or UNUSED_FOLDERS.intersection(path.parts):
        return False
    if package == "better-sqlite3":
        return path.parts[0] not in {"deps", "src"} and (path.suffix != ".node" or path.stem == target.sqlite)
    if package == "@memoryd/onnxruntime" and path.parts[0] == "bin":
        return path.parent.as_posix().endswith(f"/{target.onnxruntime}")
    return True


def run_npm(folder: Path, *args: str) -> str:
    """Returns the output of npm."""
    npm = shutil.which("npm")
    if npm is None:
        raise RuntimeError("npm is not on the PATH; install Node 24")
    return subprocess.run([npm, *args], cwd=folder, check=True, stdout=subprocess.PIPE, encoding="utf8").stdout
