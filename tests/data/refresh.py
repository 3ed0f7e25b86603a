"""Copy the sample programs that the tests read: kernels, PTX conformance, benchmarks.

    python tests/data/refresh.py --from DIR

DIR holds `kernels/`, `ptxconf/`, `checks/` and `bench/`.  Sources, launch cases, expected arrays
and the cubins compiled from these sources are copied; disassembly listings are not.  Files that DIR
no longer has are removed here.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
GROUPS = {
    "kernels": ("*.json", "*.npy", "*.cu", "ptx/*.ptx", "cubin/*/*.cubin"),
    "ptxconf": ("manifest.json", "data/*.npz", "ptx/*.ptx", "cubin/*/*.cubin"),
    "checks": ("*.json", "*.cu", "cubin/sm_52/*.cubin"),
    "bench": ("cubin/*.cubin", "kernels/*.cu"),
}
"""Folder -> what is copied from it."""


def wanted(source: Path) -> Iterator[tuple[Path, Path]]:
    """(file in `source`, its path below the data folder) of everything to copy."""
    for group, patterns in GROUPS.items():
        for pattern in patterns:
            for file in sorted((source / group).glob(pattern)):
                yield file, Path(group) / file.relative_to(source / group)


def refresh(source: Path) -> tuple[int, int]:
    """Bring the data folder up to date.

    Args:
        source: the folder to copy from.

    Returns:
        Numbers of files copied and removed.
    """
    keep = set()
    copied = 0
    for file, relative in wanted(source):
        target = HERE / relative
        keep.add(target)
        if target.exists() and target.read_bytes() == file.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
        copied += 1
    removed = 0
    for group in GROUPS:
        for file in sorted((HERE / group).rglob("*")):
            if file.is_file() and file not in keep:
                file.unlink()
                removed += 1
    return copied, removed


def main() -> None:
    """Command line entry."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--from", dest="source", type=Path, required=True, metavar="DIR")
    source = parser.parse_args().source
    missing = [group for group in GROUPS if not (source / group).is_dir()]
    if missing:
        parser.error(f"{source} has no folder {', '.join(missing)}")
    copied, removed = refresh(source)
    print(f"{copied} files copied, {removed} removed")


if __name__ == "__main__":
    main()
