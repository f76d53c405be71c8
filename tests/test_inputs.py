"""No command writes over a file that it reads."""

from __future__ import annotations

import os

import numpy as np
import pytest

from elsv import Campaign, Problem
from elsv.cli.app import _OUTPUTS, _run, app, campaign, token

CASES = [
    ("check three.toml --svg {}", "three.toml"),
    ("prior hist.csv --out {}", "hist.csv"),
    ("prior hist.csv --problem three.toml --out {}", "three.toml"),
    ("value three.toml --step 3 --out {}", "three.toml"),
    ("rehearse three.toml --customers 3 --instances 2 -p greedy --out {}", "three.toml"),
    ("solve three.toml --save {}", "three.toml"),
    ("solve drawn.toml --save {}", "draws.npy"),
    ("campaign report shop.db spring --out {}", "shop.db"),
    ("campaign report shop.db spring --out {}", "shop.db-wal"),
    ("campaign export shop.db spring {}", "shop.db"),
    ("campaign report sqlite:///shop.db spring --out {}", "shop.db"),
    ("campaign export sqlite:///shop.db spring {}", "shop.db"),
    ("backup sqlite:///shop.db {} --force", "shop.db"),
    ("backup shop.db {} --force", "shop.db"),
    ("backup shop.db {} --force", "shop.db-wal"),
]
SUFFIX = {"check": ".svg", "value": ".csv", "campaign export": ".csv"}  # what a name must end in


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Problem([0.8, 0.9, 1.0], horizon=4).save("three.toml")
    np.save("draws.npy", np.full((4, 3), 0.5))
    (tmp_path / "drawn.toml").write_text(
        'rewards = [0.8, 0.9, 1.0]\nhorizon = 4\n[structure]\nsamples = "draws.npy"\n'
    )
    (tmp_path / "hist.csv").write_text("arm,success\n1,1\n2,0\n3,1\n")
    with Campaign.open("shop.db", "spring", Problem.load("three.toml"), policy="greedy") as own:
        own.decide()
        yield tmp_path


@pytest.mark.parametrize("by", ["name", "link", "hard link"])
@pytest.mark.parametrize(("line", "read"), CASES)
def test_an_output_that_is_an_input_is_refused(shop, line, read, by, monkeypatch, capsys):
    suffix = next((end for start, end in SUFFIX.items() if line.startswith(start)), "")
    before = (shop / read).read_bytes()
    out = shop / read
    if by != "name" or (suffix and out.suffix != suffix):
        out = shop / f"out{suffix or out.suffix}"
        out.symlink_to(read) if by == "link" else os.link(shop / read, out)
    monkeypatch.setattr("sys.argv", ["elsv", *line.format(out).split()])
    assert _run() == 2
    assert (shop / read).read_bytes() == before
    if not line.startswith("backup"):  # which has words of its own
        assert "is an input of this command; choose another path" in capsys.readouterr().err


def test_every_option_that_takes_a_file_is_known_as_input_or_output():
    """A new output must be named in `_OUTPUTS`; otherwise it counts as an input."""
    found = {
        name
        for commands in (app, campaign, token)
        for info in commands.registered_commands
        for name, kind in info.callback.__annotations__.items()
        if "Path" in str(kind) or name in _OUTPUTS
    }
    assert found & set(_OUTPUTS) == set(_OUTPUTS)
    assert found - set(_OUTPUTS) <= {"problem", "store", "history", "file", "customers", "means", "db"}
