"""The command `stowage`, in this process."""

from __future__ import annotations

import signal
import sys

from stowage import _core


def main() -> int:
    # The command handles interrupts itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.main(["stowage", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
