"""Writes the licences of the libraries in the program: third-party-licences.py FILE [TARGET]

It reads `cargo metadata` of coracle-cli for a target such as x86_64-unknown-linux-gnu, without development and build
dependencies, and the licence files in the source of each library. The packages for Python, JavaScript and Java carry FILE
next to the program. A library without a licence file is listed with the licence that it names.
"""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT", "UNLICENSE")


def libraries(target):
    """The packages that `coracle-cli` links, which are not in this workspace."""
    command = ["cargo", "metadata", "--format-version=1", "--locked", "--filter-platform", target]
    found = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    packages = {package["id"]: package for package in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    waiting = [number for number, package in packages.items() if package["name"] == "coracle-cli"]
    seen = set(waiting)
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if linked and dependency["pkg"] not in seen:
                seen.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    outside = (packages[number] for number in seen if packages[number]["source"])
    return sorted(outside, key=lambda package: (package["name"], package["version"]))


def texts(package):
    folder = pathlib.Path(package["manifest_path"]).parent
    files = sorted(file for file in folder.iterdir() if file.is_file() and file.name.upper().startswith(NAMES))
    return [f"--- {file.name}\n{file.read_text(errors='replace').strip()}\n" for file in files]


def main():
    out, target = pathlib.Path(sys.argv[1]), (sys.argv[2:] or ["x86_64-unknown-linux-gnu"])[0]
    found = libraries(target)
    parts = [f"The program `coracle` contains these {len(found)} libraries.\n"]
    for package in found:
        title = f"{package['name']} {package['version']}: {package['license'] or package['license_file']}"
        parts += [f"{'=' * 80}\n{title}\n", *texts(package)]
    out.write_text("\n".join(parts))
    print(f"{len(found)} libraries in {out}")


if __name__ == "__main__":
    main()
