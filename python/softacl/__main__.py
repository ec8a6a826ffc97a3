"""Starts the command of this package: the console script `softacl`, and `python -m softacl`."""

import os
import sys

from softacl import _root


def main() -> None:
    program = os.path.join(_root(), "bin", "softacl")
    try:
        os.execv(program, [program, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"softacl: {program} could not be started: {error.strerror}")


if __name__ == "__main__":
    main()
