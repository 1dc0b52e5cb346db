"""The structure stays as good as it has become: what `benchmarks/house.py` counts keeps its limits."""

import importlib.util
from pathlib import Path

import pytest

import planted

ROOT = Path(planted.__file__).parent
SCRIPT = Path(__file__).parent.parent / "benchmarks" / "house.py"


def load_house():
    spec = importlib.util.spec_from_file_location("house", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HOUSE = load_house()


@pytest.fixture(scope="module")
def measured():
    return HOUSE.measure(ROOT)


@pytest.mark.parametrize("name", HOUSE.LIMITS)
def test_no_limit_of_the_source_is_exceeded(measured, name):
    assert HOUSE.counted(measured[name]) <= HOUSE.LIMITS[name], measured[name]


def test_no_name_says_nothing(measured):
    assert measured["vague words"]["lines"] == 0


def test_a_return_is_an_entry_of_a_room_left_before():
    assert HOUSE.returns(["a", "a", "b", "a", "c", "b"]) == 2


@pytest.mark.slow
def test_walks_return_no_more_often():
    walks = HOUSE.walks(ROOT)
    assert {name: walk["returns"] for name, walk in walks.items() if walk["returns"] > HOUSE.RETURNS[name]} == {}
