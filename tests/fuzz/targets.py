"""What a fuzzing target is: seeds, damage, and one attempt whose outcome is valid, refused or a finding."""

import random
import resource
import signal
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from support.mutants import mutate

from discotree.errors import DiscotreeError, MissingExtraError

TESTS = Path(__file__).parents[1]
CORPUS = Path(__file__).parent / "corpus"
DATA = TESTS / "data"
PATIENCE_SECONDS = 5.0  # of processor time, so that a busy machine makes no findings
MAX_GROWTH_BYTES = 512 * 2**20  # of resident memory, for one input
VALID, REFUSED, FOUND = "valid", "refused", "found"


class Hang(BaseException):
    """An input takes too long. It is no Exception, so that nothing catches it."""


class WrongResult(Exception):
    """A result that is wrong without an error: a tree that changes on its way, a response of 500."""


class Outcome(NamedTuple):
    """What came of an input; ``problem`` and ``where`` tell findings apart."""

    kind: str
    problem: str = ""
    where: str = ""
    details: str = ""

    @property
    def signature(self) -> tuple[str, str]:
        return self.problem, self.where


class Target(ABC):
    """Something that takes bytes from strangers."""

    name: str
    tokens: Sequence[bytes] = ()  # meaningful pieces that appear in mutants
    needs: Sequence[str] = ()  # libraries
    share = 1.0  # of the inputs per target that a run asks for: less for slow ones

    def prepare(self) -> None:
        """Load what the target needs; an ImportError skips it."""
        for library in self.needs:
            __import__(library)
        self.pool = [*self.seeds(), *(path.read_bytes() for path in self.corpus())]

    def corpus(self) -> list[Path]:
        """Return the files that were once findings."""
        return sorted((CORPUS / self.name).glob("*"))

    @abstractmethod
    def seeds(self) -> list[bytes]:
        """Return small valid inputs."""

    @abstractmethod
    def run(self, raw: bytes) -> None:
        """Take an input: return, raise a DiscotreeError, or anything else for a finding."""

    def mutant(self, seed: int, number: int) -> bytes:
        """Return an input that depends on nothing but the seed and its number."""
        rng = random.Random(f"{seed}/{self.name}/{number}")
        return self.damage(rng, rng.choice(self.pool))

    def damage(self, rng: random.Random, raw: bytes) -> bytes:
        return mutate(rng, raw, self.tokens)

    def close(self) -> None:  # noqa: B027 – most targets start nothing
        """End what ``prepare`` started."""


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Raise Hang inside the block when it has taken this much processor time."""

    def stop(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def attempt(target: Target, raw: bytes) -> Outcome:
    """Run a target on an input, and judge what comes of it."""
    before = peak_bytes()
    try:
        with patience(PATIENCE_SECONDS):
            target.run(raw)
    except MissingExtraError as error:
        outcome = Outcome(FOUND, type(error).__name__, "", str(error))
    except DiscotreeError:
        outcome = Outcome(REFUSED)
    except Hang as error:
        outcome = Outcome(FOUND, f"hang of {PATIENCE_SECONDS:g} seconds", "", _details(error))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also a panic of a library in Rust, which is no Exception
        outcome = Outcome(FOUND, type(error).__name__, _where(error), _details(error))
    else:
        outcome = Outcome(VALID)
    if peak_bytes() - before > MAX_GROWTH_BYTES:
        outcome = Outcome(FOUND, f"memory beyond {MAX_GROWTH_BYTES >> 20} MiB", "", outcome.details)
    return outcome


def peak_bytes() -> int:
    """Return the highest resident memory of this process so far, as Linux counts it."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def smallest(target: Target, raw: bytes, outcome: Outcome, note: Callable[[], None], seconds: float = 10.0) -> bytes:
    """Return a shorter input with the same finding: stretches are left out while it stays the same.

    ``note`` is called before every attempt.
    """
    deadline = monotonic() + seconds
    size = max(1, len(raw) // 2)
    while size and monotonic() < deadline:
        start = 0
        while start < len(raw) and monotonic() < deadline:
            note()
            shorter = raw[:start] + raw[start + size :]
            if attempt(target, shorter).signature == outcome.signature:
                raw = shorter
            else:
                start += size
        size //= 2
    return raw


def _where(error: BaseException) -> str:
    """Return the innermost line of ours that the error passed."""
    if isinstance(error, WrongResult):
        return str(error).splitlines()[0]
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "discotree" in Path(frame.filename).parts] or frames
    frame = ours[-1]
    return f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}"


def _details(error: BaseException) -> str:
    return "".join(traceback.format_exception(error, limit=-12))[-4000:]
