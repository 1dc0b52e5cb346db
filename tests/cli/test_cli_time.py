"""How long a command took, as waited."""

import re
import time

import pytest

from planted import datasets
from planted.cli import _fit as command
from planted.cli import main


def test_a_fit_says_how_long_the_whole_command_took(tmp_path, capsys, monkeypatch):
    """Everything before the fit counts: here a slow table."""
    data = datasets.make_planted(60, 2, 1, activation="tanh", random_state=0)
    path = datasets.write_table(tmp_path / "rows.csv", data.X, data.y)
    clock, check = time.perf_counter, command.check_data
    late = []

    def slow(*args):
        late.append(5.0)
        return check(*args)

    monkeypatch.setattr(command, "check_data", slow)
    monkeypatch.setattr(time, "perf_counter", lambda: clock() + sum(late))
    asked = ["fit", str(path), "--hidden", "1", "--activation", "tanh", "--no-bias", "--no-intercept", "--no-skip"]
    with pytest.raises(SystemExit):
        main(asked)
    fit, whole = re.search(r"time: fit ([\d.]+) s, ([\d.]+) s in all", capsys.readouterr().out).groups()
    assert float(whole) >= float(fit) + 4.9
