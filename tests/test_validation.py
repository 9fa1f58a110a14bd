"""Tables become dataclasses, or an error of the caller's choice that says where the mistake is."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import pytest

from discotree.config.recipes import PAPER
from discotree.errors import ConfigError, EvaluationError, ModelError
from discotree.validation import check_bounds, from_table, setting, updated


@dataclass(frozen=True)
class Wheel:
    SHORTHAND: ClassVar[str] = "name"

    name: str
    spokes: int = setting(20, "Spokes of the wheel.", 3, 100)

    def __post_init__(self):
        check_bounds(self)


@dataclass(frozen=True, slots=True)
class Bicycle:
    kind: Literal["race", "city"]
    weight: float
    price: float | None
    wheels: tuple[Wheel, ...]
    bell: Wheel
    log: list[dict[str, int | float]] = field(default_factory=list)


TABLE = {"kind": "city", "weight": 12, "price": None, "wheels": ["front", {"name": "rear", "spokes": 36}], "bell": "b"}
BICYCLE = Bicycle("city", 12.0, None, (Wheel("front"), Wheel("rear", 36)), Wheel("b"))


def test_a_table_becomes_a_dataclass_of_dataclasses():
    bicycle = from_table(Bicycle, TABLE, "here")
    assert bicycle == BICYCLE
    assert type(bicycle.weight) is float
    assert type(from_table(Bicycle, TABLE | {"price": 3}, "here").price) is float


def test_whole_numbers_stay_whole_where_both_kinds_are_allowed():
    log = from_table(Bicycle, TABLE | {"log": [{"km": 3, "hours": 0.5}]}, "here").log
    assert [(name, type(value)) for name, value in log[0].items()] == [("km", int), ("hours", float)]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"kind": "cargo"}, "here: kind: expected one of 'race', 'city', got 'cargo'"),
        ({"weight": "12"}, "here: weight: expected float, got '12'"),
        ({"weight": True}, "here: weight: expected float, got True"),
        ({"price": "a lot"}, "here: price: expected float or none, got 'a lot'"),
        ({"wheels": "front"}, "here: wheels: expected a list, got 'front'"),
        ({"wheels": [7]}, "here: wheels: expected a table, got 7"),
        ({"wheels": [{}]}, "here: wheels: 'name' is missing"),
        ({"bell": {"name": "b", "spokes": 2}}, "here: bell: spokes: expected at least 3 and below 100, got 2"),
        ({"colour": "red"}, "here: unknown key 'colour', expected one of kind, weight, price, wheels, bell, log"),
        ({"log": [{"km": "3"}]}, "here: log: km: expected int or float, got '3'"),
        ({"log": [3]}, "here: log: expected a table, got 3"),
    ],
)
def test_every_mistake_has_its_address(change, complaint):
    with pytest.raises(ConfigError) as caught:
        from_table(Bicycle, TABLE | change, "here")
    assert str(caught.value) == complaint


@pytest.mark.parametrize("error", [ModelError, EvaluationError])
def test_the_caller_chooses_the_class_of_the_error(error):
    broken = [{"kind": 7}, {"colour": 1}, {"wheels": [{}]}, {"bell": {"name": "b", "spokes": 1}}, {"price": ""}]
    for table in [TABLE | change for change in broken] + [None, {}]:
        with pytest.raises(error, match=r"^here: "):
            from_table(Bicycle, table, "here", error)
    with pytest.raises(error, match=r"^here: spokes: expected at least 3"):
        updated(Wheel("front"), {"spokes": 0}, "here", error)


def test_a_complete_table_has_fields_with_a_default_too():
    with pytest.raises(ConfigError, match=r"^here: 'log' is missing$"):
        from_table(Bicycle, TABLE, "here", complete=True)
    assert from_table(Bicycle, TABLE | {"log": []}, "here", complete=True) == BICYCLE


def test_long_values_are_shortened():
    with pytest.raises(ConfigError) as caught:
        from_table(Bicycle, TABLE | {"weight": "x" * 1000}, "here")
    assert len(str(caught.value)) < 100


def test_updating_leaves_the_given_one_as_it_is():
    assert updated(PAPER, {"training": {"seed": 9}}, "").training.seed == 9
    assert PAPER.training.seed == 1


class Shout(str):
    """A type that makes its own values."""

    @classmethod
    def of(cls, value: object) -> "Shout":
        if not isinstance(value, str):
            raise ConfigError(f"expected a word, got {value!r}")
        return cls(value.upper())


@dataclass(frozen=True)
class Greeting:
    word: Shout = Shout()  # noqa: RUF009


def test_a_type_may_make_and_check_its_own_values() -> None:
    assert from_table(Greeting, {"word": "hi"}, "x.toml").word == "HI"
    with pytest.raises(ModelError, match=r"^x\.toml: word: expected a word, got 1$"):
        from_table(Greeting, {"word": 1}, "x.toml", ModelError)
