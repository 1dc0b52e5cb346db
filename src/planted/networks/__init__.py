"""Networks with one hidden layer: evaluate, canonical form, save, load, compare with a teacher."""

from planted.networks._convert import ConversionError
from planted.networks._dense import Network
from planted.networks._export import export_network
from planted.networks._format import ModelFileError
from planted.networks._kind import KINDS, Kind, from_arrays, load_model, model_about, model_signature
from planted.networks._matching import Match, match, permutation_error
from planted.networks._shared_filter import ConvNetwork, as_patches
from planted.networks._signature import Signature, versions

__all__ = [
    "KINDS",
    "ConvNetwork",
    "ConversionError",
    "Kind",
    "Match",
    "ModelFileError",
    "Network",
    "Signature",
    "as_patches",
    "export_network",
    "from_arrays",
    "load_model",
    "match",
    "model_about",
    "model_signature",
    "permutation_error",
    "versions",
]
