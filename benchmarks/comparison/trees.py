"""The trees of files that are measured on, made below a folder and found there again."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.comparison import generated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PACKAGES, MONOREPO, LONG_FILE = "packages", "monorepo", "long file"
NAMES = (PACKAGES, MONOREPO, LONG_FILE)
LIST = Path(__file__).parents[1] / "packages.txt"
_STAMP = "made-of.txt"


def pinned(text: str) -> list[str]:
    """Give the requirements in a list of them: all but comments and empty lines."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


def make_tree(name: str, work: Path, *, wheels: Path | None, scale: float = 1.0) -> Path:
    """Give the folder of a tree, and make it first where it is not there as it should be.

    `wheels` is a folder that has the distributions already; what it lacks is downloaded. With a
    `scale` below 1 the tree is that much smaller, to try the comparison itself.
    """
    if name == PACKAGES:
        requirements = pinned(LIST.read_text(encoding="utf-8"))
        requirements = requirements[: max(1, round(len(requirements) * scale))]
        folder = work / "trees" / "packages"
        return _made(folder, "\n".join(requirements), _packages(requirements, work, wheels))
    if name == MONOREPO:
        count = round(generated.FILES * scale)
        files, what = generated.monorepo(count), f"{count} files"
    else:
        count = round(generated.LONG * scale)
        files, what = iter([("long.py", generated.long_file(count))]), f"{count} lines"
    made_by = hashlib.sha256(Path(generated.__file__).read_bytes()).hexdigest()
    folder = work / "trees" / name.replace(" ", "-")
    return _made(folder, f"{what} by {made_by}", ((path, text.encode()) for path, text in files))


def make_package(requirement: str, work: Path, *, wheels: Path | None = None) -> Path:
    """Give the folder with the Python files of one distribution, as `make_tree` does."""
    folder = work / "packages" / requirement.replace("==", "-")
    return _made(folder, requirement, _packages([requirement], work, wheels))


def _made(folder: Path, what: str, files: Iterable[tuple[str, bytes]]) -> Path:
    stamp = folder.with_name(f"{folder.name}-{_STAMP}")
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == what:
        return folder
    stamp.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    for path, data in files:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    # Last, so that what was interrupted is made again.
    stamp.write_text(what, encoding="utf-8")
    return folder


def _packages(
    requirements: list[str], work: Path, wheels: Path | None
) -> Iterator[tuple[str, bytes]]:
    """Give the Python files of distributions, each below the name of its project.

    Nothing else of them: no tool shall find settings there, or files that only it would read.
    """
    for requirement in requirements:
        project, _, version = requirement.partition("==")
        archive = find_archive(project, version, [*filter(None, [wheels, work / "wheels"])])
        if archive is None:
            archive = _download(requirement, project, version, work / "wheels")
        for name, data in python_files(archive):
            yield f"{project}/{name}", data


def find_archive(project: str, version: str, folders: Iterable[Path]) -> Path | None:
    """Find the wheel or the sdist of a version in some folders."""
    wanted = f"{_normal(project)}-{version}"
    for folder in folders:
        for path in sorted(folder.glob("*")):
            stem, kind = path.name.removesuffix(".tar.gz"), path.suffix
            if kind == ".whl":
                name, its, *_ = path.name.split("-")
            elif stem != path.name:
                name, _, its = stem.rpartition("-")
            else:
                continue
            if f"{_normal(name)}-{its}" == wanted:
                return path
    return None


def _normal(project: str) -> str:
    return project.lower().replace("-", "_").replace(".", "_")


def _download(requirement: str, project: str, version: str, folder: Path) -> Path:
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
            *("--no-deps", "--dest", str(folder), requirement),
        ],
        check=True,
    )
    archive = find_archive(project, version, [folder])
    if archive is None:
        message = f"pip downloaded no {requirement} to {folder}"
        raise FileNotFoundError(message)
    return archive


def python_files(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Give the Python files in a wheel or an sdist, by their paths in it."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for entry in wheel.infolist():
                if _is_python(entry.filename):
                    yield entry.filename, wheel.read(entry)
        return
    with tarfile.open(archive) as sdist:
        for member in sdist:
            file = sdist.extractfile(member) if _is_python(member.name) else None
            if file is not None:
                yield member.name, file.read()


def _is_python(name: str) -> bool:
    parts = name.split("/")
    return name.endswith(".py") and not name.startswith("/") and ".." not in parts
