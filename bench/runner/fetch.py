"""What no package of the distribution installs: files out of wheels, packages and source packages,
unpacked once into a folder of the build, and environments of Python with packages of PyPI's."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path


def from_pypi(folder: Path, package: str, library: str) -> Path | None:
    """The library out of a wheel, unpacked once."""
    if not list(folder.rglob(library)):
        folder.mkdir(parents=True, exist_ok=True)
        fetched = _quietly(sys.executable, "-m", "pip", "download", "--no-deps",
                           "--only-binary", ":all:", "--dest", str(folder), package)
        if not fetched:
            return None
        for wheel in folder.glob("*.whl"):
            shutil.unpack_archive(wheel, folder, "zip")
    return next(iter(folder.rglob(library)), None)


def environment(folder: Path, packages: tuple[str, ...]) -> bool:
    """An environment of Python with these packages; made anew where others were asked for."""
    made = folder / "packages"
    if made.exists() and made.read_text().split() == list(packages):
        return True
    print(f"fetching {len(packages)} packages from PyPI", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    fetched = (_quietly("python3", "-m", "venv", str(folder))
               and _quietly(str(folder / "bin/python3"), "-m", "pip", "install", *packages))
    if fetched:
        made.write_text("\n".join(packages))
    return fetched


def from_debian(folder: Path, package: str, library: str) -> Path | None:
    """The library out of a package, which is not installed."""
    if not list(folder.rglob(library)):
        folder.mkdir(parents=True, exist_ok=True)
        if not _quietly("apt-get", "download", package, cwd=folder):
            return None
        for archive in folder.glob("*.deb"):
            _quietly("dpkg", "-x", str(archive), str(folder))
    return next(iter(folder.rglob(library)), None)


def debian_source(folder: Path, package: str) -> Path | None:
    """The sources of a package of Debian 12, as their authors published them. The lists of sources that
    apt needs for it stay in `folder`: the machine's own need not have any."""
    if not list(folder.glob(f"{package}-*/")):
        lists = folder / "lists"
        (lists / "partial").mkdir(parents=True, exist_ok=True)
        sources = folder / "debian.sources"
        sources.write_text("Types: deb-src\nURIs: http://deb.debian.org/debian\nSuites: bookworm\n"
                           "Components: main\n"
                           "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n")
        apt = ("apt-get", "-o", f"Dir::Etc::SourceList={sources}",
               "-o", "Dir::Etc::SourceParts=/dev/null", "-o", f"Dir::State::Lists={lists}",
               "-o", "Dir::Cache::srcpkgcache=", "-o", "Dir::Cache::pkgcache=")
        if not (_quietly(*apt, "update", cwd=folder)
                and _quietly(*apt, "source", "--tar-only", "--download-only", package, cwd=folder)):
            return None
        for archive in folder.glob(f"{package}_*.orig.tar.*"):
            shutil.unpack_archive(archive, folder)
    return next(iter(folder.glob(f"{package}-*/")), None)


def _quietly(*command: str, cwd: Path | None = None) -> bool:
    try:
        return subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=900).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
