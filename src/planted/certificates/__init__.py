"""Is this point a minimum, a saddle or a trap, and do the theorems apply to it?"""

from planted.certificates._assumptions import Assumption, assumptions
from planted.certificates._certify import KINDS, Certificate, certify
from planted.certificates._conv import ConvStationary
from planted.certificates._kinks import Kinks, find_kinks
from planted.certificates._symmetries import Symmetry, flat_symmetries
from planted.objectives._curvature import Curvature, smallest_curvature

__all__ = [
    "KINDS",
    "Assumption",
    "Certificate",
    "ConvStationary",
    "Curvature",
    "Kinks",
    "Symmetry",
    "assumptions",
    "certify",
    "find_kinks",
    "flat_symmetries",
    "smallest_curvature",
]
