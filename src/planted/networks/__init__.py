"""Networks with one hidden layer: evaluate, canonical form, save, load, compare with a teacher."""

from planted.networks._convert import ConversionError
from planted.networks._dense import Network
from planted.networks._export import export_network
from planted.networks._format import ModelFileError
from planted.networks._kind import (
    AT_KINK,
    INACTIVE,
    KINDS,
    Kind,
    from_arrays,
    grown,
    load_model,
    model_about,
    model_signature,
)
from planted.networks._matching import Match, match, permutation_error
from planted.networks._on_rows import (
    counting_rows,
    distinct_rows,
    largest_residual,
    off_kinks,
    residual_sizes,
    rounding_noise,
)
from planted.networks._shared_filter import ConvNetwork, as_patches
from planted.networks._signature import Signature, versions

__all__ = [
    "AT_KINK",
    "INACTIVE",
    "KINDS",
    "ConvNetwork",
    "ConversionError",
    "Kind",
    "Match",
    "ModelFileError",
    "Network",
    "Signature",
    "as_patches",
    "counting_rows",
    "distinct_rows",
    "export_network",
    "from_arrays",
    "grown",
    "largest_residual",
    "load_model",
    "match",
    "model_about",
    "model_signature",
    "off_kinks",
    "permutation_error",
    "residual_sizes",
    "rounding_noise",
    "versions",
]
