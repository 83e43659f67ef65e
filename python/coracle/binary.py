"""Finds the program `coracle`, and checks that it runs here."""

from __future__ import annotations

import errno
import os
import pathlib
import platform
import re
import shutil
import subprocess

from .errors import BinaryError
from .version import __version__

CARRIED = pathlib.Path(__file__).parent / "bin" / "coracle"


def find() -> str:
    """The path of the program: CORACLE_BIN, the one in this package, or the one on PATH; checked."""
    named = os.environ.get("CORACLE_BIN")
    if named:
        if not os.path.isfile(named):
            raise BinaryError(f"CORACLE_BIN names {named}, which is not a file: set it to the path of the program `coracle`")
        return checked(named)
    if CARRIED.is_file():
        return checked(str(CARRIED))
    on_path = shutil.which("coracle")
    if on_path:
        return checked(on_path)
    raise BinaryError(
        "the program `coracle` is missing: install a wheel that carries it, put it on PATH, or set CORACLE_BIN to its path"
    )


def checked(path: str) -> str:
    """This path, if the program runs here and has the version of this package."""
    if not os.access(path, os.X_OK):
        raise BinaryError(f"{path} is not executable: run `chmod +x {path}`")
    try:
        ran = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except subprocess.TimeoutExpired:
        raise BinaryError(f"`{path} --version` did not end within 30 seconds: check that it is the program `coracle`") from None
    except OSError as error:
        if error.errno in (errno.ENOEXEC, errno.ENOENT):
            machine = f"{platform.system()} {platform.machine()} with {' '.join(platform.libc_ver()) or 'its C library'}"
            raise BinaryError(f"{path} is not a program for this machine ({machine}): use the build for it") from None
        raise BinaryError(f"{path} cannot be started: {error.strerror}") from None
    needs = re.findall(r"GLIBC_([\d.]+)' not found", ran.stderr)
    if needs:
        newest = max(needs, key=lambda version: [int(part) for part in version.split(".")])
        has = platform.libc_ver()[1] or "an older one"
        raise BinaryError(
            f"{path} needs glibc {newest}, and this machine has {has}: use a newer system or image, or a build for its glibc"
        )
    found = re.fullmatch(r"coracle(?:-\S+)? (\d+\.\d+)(\S*)", ran.stdout.strip())
    if ran.returncode != 0 or not found:
        said = (ran.stderr or ran.stdout).strip().splitlines()
        said = said[-1] if said else f"exit code {ran.returncode}"
        raise BinaryError(f"{path} is not the program `coracle` ({said}): set CORACLE_BIN to its path")
    if found.group(1) != ".".join(__version__.split(".")[:2]):
        version = found.group(1) + found.group(2)
        raise BinaryError(
            f"{path} has version {version}, and this package needs {__version__}: install the same version of both"
        )
    return path
