"""`python -m slmmodel` is `slm`."""

from __future__ import annotations

import sys

from slmmodel.cli import main

if __name__ == "__main__":
    sys.exit(main())
