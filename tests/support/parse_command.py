"""What `discotree parse` made of its input, for the tests that run it in this process."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from support.networks import TREES

LINES = [" ".join(tree.words) for tree in TREES]


class Done(NamedTuple):
    code: int
    out: bytes
    err: str

    @property
    def trees(self) -> list[str]:
        return self.out.decode().splitlines()

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


Cli = Callable[..., Done]
