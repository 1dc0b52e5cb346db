"""The scikit-learn front door for real targets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from planted import activations
from planted.estimators._base import PlantedEstimator, checked_width
from planted.estimators._tables import coded_table
from planted.inputs import Density, InputLaw, check_inputs
from planted.methods import METHODS, Free, Method, Problem, assumed_inputs, choose_width, joined_rows
from planted.names import unknown
from planted.numerics import random
from planted.numerics.progress import Progress
from planted.numerics.seeding import words_from
from planted.rows import ChunkedRows, Rows, Survey
from planted.starts import MomentRank, moment_rank, rank_is_testable


class PlantedRegressor(RegressorMixin, PlantedEstimator):
    """Recover the one-hidden-layer network behind (X, y).

    Parameters
    ----------
    n_hidden : int or "auto"
        Number of neurons; "auto" finds the smallest number that explains held-out rows. That is a matter of the
        squared loss, which assumes nothing of the inputs, so `inputs` has no part in it.
    activation : str, Activation or callable
        φ, see :func:`planted.activations.get`.
    method : "auto", "expand", "landscape", "hermite", "score", "tensor", "quadratic", "squared" or "interpolate"
        How to recover; see :mod:`planted.methods`. "interpolate" fits every row and says nothing of the weights.
    inputs : "auto", a density of planted.inputs, a LocalLikelihood or a name
        What is known of X, see :func:`planted.inputs.input_law`. method="score" uses it; "landscape" and "hermite",
        which whiten X by its mean and covariance, warn where it is not Gaussian. "auto" tests for that.
    fit_bias : bool
        Whether neurons have biases.
    fit_intercept : bool
        Whether every output has an intercept; zero otherwise.
    random_state : None, int or RandomState
    progress : callable, optional
        Called as `progress(done, total, text)` while fitting.

    Attributes
    ----------
    network_ : Network
        On the caller's own inputs.
    result_ : Recovery
        Status, reason, advice, losses, timings; printing it is readable. The status is "recovered", "estimated",
        "ambiguous" or "misfit", see :mod:`planted.methods`.
    certificate_ : Certificate
        Of the squared loss at the network; see :func:`planted.certify`.
    verdict_ : Verdict
        Status, reason and advice, and the facts they follow from.
    standard_errors_ : Uncertainty
        Of every parameter of the canonical network; missing above 1,000 parameters.
    method_ : str
        The method whose directions were refined.
    inputs_ : InputLaw
        What was decided about the inputs, and why.
    n_hidden_ : int
    width_losses_ : dict
        Held-out relative loss by width, when n_hidden="auto".
    moment_rank_ : MomentRank
        The number of neurons by the rank of E[y S₂], with the p-value of each rank, beside that search; where the law
        of the inputs is known and :func:`planted.starts.rank_is_testable` says that there are enough rows.

    Examples
    --------
    >>> from planted import datasets, match
    >>> data = datasets.make_planted(2000, 5, 3, output="mixed", random_state=0)
    >>> est = PlantedRegressor(n_hidden=3, random_state=0).fit(data.X, data.y)
    >>> est.result_.status, match(est.network_, data.teacher).weight_error < 1e-8
    ('recovered', True)
    """

    inputs_: InputLaw
    moment_rank_: MomentRank

    def __init__(
        self,
        n_hidden: Any = "auto",
        activation: Any = "relu",
        method: str = "auto",
        inputs: Any = "auto",
        fit_bias: bool = False,
        random_state: Any = None,
        progress: Any = None,
        fit_intercept: bool = False,
    ) -> None:
        self.n_hidden = n_hidden
        self.activation = activation
        self.method = method
        self.inputs = inputs
        self.fit_bias = fit_bias
        self.random_state = random_state
        self.progress = progress
        self.fit_intercept = fit_intercept

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # It looks for a network that made the data: on data from another source, however simple, it may fit poorly.
        tags.regressor_tags.poor_score = True
        tags.target_tags.multi_output = True
        return tags

    def _check_settings(self) -> None:
        if self.method not in METHODS:
            raise ValueError(unknown("method", self.method, METHODS))
        checked_width(self.n_hidden)
        check_inputs(self.inputs)
        activations.get(self.activation)

    def _validated(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        inputs, targets = validate_data(
            self, X, y, dtype=np.float64, y_numeric=True, multi_output=True, ensure_min_samples=2
        )
        targets = np.asarray(targets, dtype=np.float64)
        return inputs, targets[:, 0] if targets.ndim == 2 and targets.shape[1] == 1 else targets

    def _joined(self, looked: Survey) -> Survey:
        X, y, weight = joined_rows(looked.X, looked.y, looked.weight)
        return looked if X is looked.X else Survey.of(X, y, weight)

    def _width_guess(self, rows: ChunkedRows) -> int:
        return rows.n_features if self.n_hidden == "auto" else int(self.n_hidden)

    def _problem(self, rows: Rows, looked: Survey, progress: Progress) -> Problem:
        if looked.constant:
            raise ValueError("y is constant: there is no network to recover")
        self.inputs_ = assumed_inputs(self.inputs, looked.X, self._method())
        return Problem(
            rows=rows,
            survey=looked,
            n_hidden=1 if self.n_hidden == "auto" else int(self.n_hidden),
            activation=activations.get(self.activation),
            free=Free(bool(self.fit_bias), bool(self.fit_intercept)),
            inputs=self.inputs_,
            key=words_from(self.random_state),
            progress=progress,
        )

    def _method(self) -> Method:
        return METHODS[self.method]

    def _chosen_width(self, problem: Problem, method: Method) -> Problem:
        if self.n_hidden != "auto":
            return problem
        if method.width is not None:
            return replace(problem, n_hidden=method.width(problem))
        survey = problem.survey
        plain = survey.y.ndim == 1 and survey.weight is None
        if plain and isinstance(self.inputs_.law, Density) and rank_is_testable(*survey.X.shape):
            self.moment_rank_ = moment_rank(survey.X, survey.y, self.inputs_.law)
        key, width_key = random.split(problem.key)
        n, d = len(problem.survey.y), problem.n_features
        # The widest network that eight tenths of the rows can still determine.
        largest = max(1, min(4 * d, int(0.8 * n) // (d + 1 + problem.free.bias)))

        def choose() -> dict[str, np.ndarray]:
            width, losses = choose_width(replace(problem, key=width_key), largest)
            return {"width": np.asarray(width), "tried": np.array([*losses]), "losses": np.array([*losses.values()])}

        chosen = problem.once("width", choose)
        self.width_losses_ = dict(zip(chosen["tried"].tolist(), chosen["losses"].tolist(), strict=True))
        return replace(problem, n_hidden=int(chosen["width"]), key=key)

    def predict(self, X: Any) -> np.ndarray:
        """Outputs (n,) of the recovered network, or (n, m) for m targets."""
        check_is_fitted(self)
        return self.network_.predict(validate_data(self, coded_table(self, X), dtype=np.float64, reset=False))
