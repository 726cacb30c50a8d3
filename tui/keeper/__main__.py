"""`python -m tui.keeper DIRECTORY`."""

from __future__ import annotations

import sys

from tui.keeper.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
