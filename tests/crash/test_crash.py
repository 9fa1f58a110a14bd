"""A short run of ``make crash``, always with the same seed."""

import pytest
from crash.crash import COUNTED, commands, crash, report


@pytest.mark.slow
@pytest.mark.parametrize("name", [command.name for command in commands()])
def test_killed_commands_and_full_disks_change_nothing(name: str) -> None:
    (command,) = crash(kills=2, disks=1, seed=1, names=(name,))
    assert command.problems == [], report([command])
    assert command.counts["kills"] == 2
    assert command.counts["full disks"] == 1
    assert all(command.counts[count] for count in COUNTED if count != "unfinished")
