"""`python -m tui` is `sgltui`."""

from __future__ import annotations

import sys

from tui.cli import main

if __name__ == "__main__":
    sys.exit(main())
