# SPDX-License-Identifier: BSD-3-Clause
"""`python -m graft ARGUMENT...`: the graft command of the installation that this package is in."""
import os
import sys

from .library import command


def main() -> None:
    """Becomes the command. Exit status 1 where there is none."""
    path = command()
    if path is None:
        sys.exit(f"graft: no graft command is installed with {os.path.dirname(__file__)}; install the wheel of ./bootstrap wheel, or "
                 "use cmake --install")
    os.execv(path, ["graft", *sys.argv[1:]])


if __name__ == "__main__":
    main()
