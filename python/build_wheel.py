"""Makes a wheel that carries the program: build_wheel.py BINARY PLATFORM_TAG [--out FOLDER] [--licence FILE ...]

The wheel is coracle-VERSION-py3-none-PLATFORM.whl, for example with manylinux_2_34_x86_64. It contains the licence of
Coracle, and each FILE, for example the licences of the libraries in the program. It needs hatchling.
"""

import argparse
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("platform")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "dist")
    parser.add_argument("--licence", type=pathlib.Path, action="append", default=[])
    asked = parser.parse_args()
    if not asked.binary.is_file():
        parser.error(f"there is no file {asked.binary}")
    out = asked.out.resolve()
    with tempfile.TemporaryDirectory() as folder:
        # A copy: the licences and the mode of the program are those of the wheel and not of the worktree.
        project = pathlib.Path(folder) / "python"
        shutil.copytree(HERE, project, ignore=shutil.ignore_patterns("bin", "dist", "tests", "__pycache__", ".*"))
        shutil.copy(HERE.parent / "LICENSE", project / "LICENSE")
        for licence in asked.licence:
            shutil.copy(licence, project / f"THIRD-PARTY-LICENSES-{licence.name}")
        binary = pathlib.Path(folder) / "coracle"
        shutil.copy(asked.binary, binary)
        binary.chmod(stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
        named = {"CORACLE_WHEEL_BINARY": str(binary), "CORACLE_WHEEL_PLATFORM": asked.platform}
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
        subprocess.run(build, cwd=project, env={**os.environ, **named}, check=True)


if __name__ == "__main__":
    main()
