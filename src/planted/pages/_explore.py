"""The explorer: why gradient descent gets stuck and a designed loss does not, to play with on one page."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path

from planted.numerics.files import write_whole
from planted.pages._assemble import assemble, embedded


@dataclass(frozen=True)
class Trap:
    """A spurious minimum of the population squared loss: a teacher, and the student at the minimum.

    Outputs of the student are fixed to those of the teacher; φ is ReLU. `planted.certify` calls each a local minimum.
    """

    name: str
    words: str
    weights: list[list[float]]
    output: list[float]
    student: list[list[float]]


def _directions(*degrees: float) -> list[list[float]]:
    return [[math.cos(math.radians(angle)), math.sin(math.radians(angle))] for angle in degrees]


def _identity(size: int) -> list[list[float]]:
    return [[float(i == j) for j in range(size)] for i in range(size)]


TRAPS = (
    Trap(
        "five around the circle",
        "five neurons around a circle: half of all random starts end here",
        _directions(0, 72, 144, 216, 288),
        [1.0] * 5,
        [
            [-0.321589740177534, 0.939137747209812],
            [0.127641433541175, 0.695868946806981],
            [-1.29185070889457, -0.938584479845718],
            [0.701254068498906, -0.0936411133026663],
            [0.793796379251033, -0.596059541916338],
        ],
    ),
    Trap(
        "two, one subtracts",
        "two neurons, one of which subtracts: both end on the wrong side",
        _identity(2),
        [1.0, -1.0],
        [
            [-0.388923246978398, 0.107548125104157],
            [-0.611076753021596, 0.892451874895838],
        ],
    ),
    Trap(
        "three, one subtracts",
        "three neurons, one of which subtracts",
        _identity(3),
        [1.0, 1.0, -1.0],
        [
            [0.0758871326804894, 0.974361618870436, -0.549990448168768],
            [0.974361618870437, 0.0758871326804929, -0.549990448168767],
            [0.203833888022823, 0.203833888022825, -0.712914067654746],
        ],
    ),
    Trap(
        "six perpendicular",
        "six perpendicular neurons (Safran and Shamir 2018): rare, one of 400 random starts ended here",
        _identity(6),
        [1.0] * 6,
        [
            [
                -0.050413403216839,
                -0.0504134032168324,
                0.986703818888468,
                0.308010991479366,
                -0.0504134032168954,
                -0.0504134032168405,
            ],
            [
                -0.0504134032167601,
                0.986703818888727,
                -0.0504134032168,
                0.308010991478808,
                -0.0504134032167573,
                -0.0504134032167692,
            ],
            [
                0.986703818888652,
                -0.0504134032167632,
                -0.0504134032168245,
                0.308010991478958,
                -0.0504134032168303,
                -0.0504134032167463,
            ],
            [
                -0.0504134032168334,
                -0.0504134032167987,
                -0.0504134032168905,
                0.308010991479272,
                0.986703818888513,
                -0.0504134032168384,
            ],
            [
                -0.0504134032167637,
                -0.0504134032167607,
                -0.0504134032168278,
                0.308010991478965,
                -0.0504134032168313,
                0.986703818888636,
            ],
            [
                0.224515807599362,
                0.224515807599243,
                0.224515807599705,
                -0.601511923561139,
                0.224515807599628,
                0.224515807599378,
            ],
        ],
    ),
)
"""Found by L-BFGS from random starts, polished by Newton's method to a gradient below 1e-11."""


def write_explorer(path: str | PathLike[str]) -> Path:
    """Write the explorer to an HTML file that needs nothing else; returns its path.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_explorer(f"{folder}/explore.html").stat().st_size < 300_000
    True
    """
    file = Path(path)
    scripts = ("shared.js", "losses.js", "explore.js", "tours.js")
    slots = {"data": embedded({"traps": [asdict(trap) for trap in TRAPS]})}
    write_whole(file, assemble("explore.html", ("shared.css", "explore.css"), scripts, slots).encode())
    return file
