"""No operator is forgotten: each one that the table computes was run by a test that compares its values.

The tests of values are in files whose names come before this one, so they run first."""

from operators import COMPARED, OPERATORS


def test_every_operator_is_compared() -> None:
    computed = {name for name, operator in OPERATORS.items() if operator.is_computed}
    missing = sorted(computed - COMPARED)
    assert not missing, f"no test of this run compares values of {missing}; was the whole directory run?"
