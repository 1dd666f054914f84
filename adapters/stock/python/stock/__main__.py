"""`python -m stock OPERATION [JSON ARGUMENTS]` runs one operation and prints its result as JSON;
`python -m stock serve` runs many, one JSON object a line, without paying for the imports each time."""

import json
import sys

from stock.operations import answer
from stock.serve import serve


def main() -> int:
    if sys.argv[1:] == ["serve"]:
        serve(sys.stdin, sys.stdout)
        return 0
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    arguments = json.loads(sys.argv[2]) if len(sys.argv) == 3 else {}
    reply = answer({"id": 0, "op": sys.argv[1], "args": arguments})
    print(json.dumps(reply))
    return 0 if "error" not in reply else 1


if __name__ == "__main__":
    sys.exit(main())
