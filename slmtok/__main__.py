"""`python -m slmtok`: the same as the command `slmtok`."""

import sys

from slmtok.cli import main

if __name__ == "__main__":
    sys.exit(main())
