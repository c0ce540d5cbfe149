"""`python -m tarry`."""

import sys

from tarry.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
