"""The scikit-learn front doors."""

from planted.estimators._classifier import PlantedClassifier
from planted.estimators._label_codes import label_codes
from planted.estimators._regressor import PlantedRegressor
from planted.estimators._saved import SavedModel, load, probabilities
from planted.estimators._scores import held_out, target_scores
from planted.estimators._shared_filter import PlantedConvRegressor
from planted.estimators._summary import Summary
from planted.estimators._tables import TableWarning

__all__ = [
    "PlantedClassifier",
    "PlantedConvRegressor",
    "PlantedRegressor",
    "SavedModel",
    "Summary",
    "TableWarning",
    "held_out",
    "label_codes",
    "load",
    "probabilities",
    "target_scores",
]
