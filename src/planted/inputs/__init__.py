"""What is known of the inputs x, as score functions S_m = ∇^m f / f of their density f."""

from planted.inputs._bandwidth import rule_of_remark
from planted.inputs._base import Density, SingularScoreWarning
from planted.inputs._custom import CustomDensity
from planted.inputs._gaussian import Gaussian
from planted.inputs._gaussianity import Gaussianity, gaussianity
from planted.inputs._henze_zirkler import Normality, henze_zirkler
from planted.inputs._law import InputLaw, check_inputs, input_law
from planted.inputs._local_likelihood import LocalFit, LocalFitWarning, LocalLikelihood, LowDegreeWarning
from planted.inputs._mean_derivative import mean_derivative, one_dimensional
from planted.inputs._mixture import GaussianMixture
from planted.inputs._moment_bandwidth import bandwidth_for_moment, moment_error
from planted.inputs._polynomial import PolynomialFit, affordable_degree, polynomial_fit
from planted.inputs._product import HyperbolicSecant, Laplace, Logistic, ProductDensity, StudentT
from planted.inputs._radial import RadialLaw, gaussian_radius
from planted.inputs._sampled_derivative import DRAWS, SampledDerivatives, draws_of, sampled_derivatives
from planted.inputs._scores import score_tensor
from planted.inputs._white_rows import white_coordinates

__all__ = [
    "DRAWS",
    "CustomDensity",
    "Density",
    "Gaussian",
    "GaussianMixture",
    "Gaussianity",
    "HyperbolicSecant",
    "InputLaw",
    "Laplace",
    "LocalFit",
    "LocalFitWarning",
    "LocalLikelihood",
    "Logistic",
    "LowDegreeWarning",
    "Normality",
    "PolynomialFit",
    "ProductDensity",
    "RadialLaw",
    "SampledDerivatives",
    "SingularScoreWarning",
    "StudentT",
    "affordable_degree",
    "bandwidth_for_moment",
    "check_inputs",
    "draws_of",
    "gaussian_radius",
    "gaussianity",
    "henze_zirkler",
    "input_law",
    "mean_derivative",
    "moment_error",
    "one_dimensional",
    "polynomial_fit",
    "rule_of_remark",
    "sampled_derivatives",
    "score_tensor",
    "white_coordinates",
]
