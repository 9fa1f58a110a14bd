"""``python tests/fuzz`` or, with tests on the path, ``python -m fuzz``."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "src")]

if __name__ == "__main__":
    from fuzz.run import main

    sys.exit(main())
