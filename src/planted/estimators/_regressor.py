"""The scikit-learn front door for real targets."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from planted import activations
from planted.estimators._base import LOG, PlantedEstimator, checked_part, checked_width, is_auto
from planted.inputs import InputLaw, check_inputs
from planted.methods import METHODS, Choice, Free, Method, Problem, Question, assumed_inputs, decide, joined_rows
from planted.names import unknown
from planted.numerics.progress import Progress
from planted.rows import ChunkedRows, Rows, Survey
from planted.starts import MomentRank


class PlantedRegressor(RegressorMixin, PlantedEstimator):
    """Recover the one-hidden-layer network behind (X, y).

    Parameters
    ----------
    n_hidden : int or "auto"
        Number of neurons; "auto" finds the smallest number that explains held-out rows, which may be none: a linear
        function. That is a matter of the squared loss, which assumes nothing of the inputs.
    activation : "auto", str, Activation or callable
        φ, see :func:`planted.activations.get`; "auto" compares those of the library on held-out rows.
    method : "auto", "expand", "landscape", "hermite", "score", "tensor", "quadratic", "squared" or "interpolate"
        How to recover; see :mod:`planted.methods`. "interpolate" fits every row and says nothing of the weights.
    inputs : "auto", a density of planted.inputs, a LocalLikelihood or a name
        What is known of X, see :func:`planted.inputs.input_law`. method="score" uses it; "landscape" and "hermite",
        which whiten X by its mean and covariance, warn where it is not Gaussian. "auto" tests for that.
    fit_bias, fit_intercept, fit_skip : bool or "auto"
        Whether neurons have biases, every output an intercept, and a linear part stands beside the neurons; "auto"
        takes a part that held-out rows need. A linear part is looked for only where the activation or the width is.
    random_state : None, int or RandomState
    progress : callable, optional
        Called as `progress(done, total, text)` while fitting.
    time_budget : float, optional
        Seconds after which the best network until then is finished, judged and returned; the result says so. It is kept
        to a step of a descent and the last measurements. Without it a seed gives the same network on every machine.

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
    choice_ : Choice
        The candidates that were compared, their held-out losses, and why one was chosen; printing it shows a table.
        Missing where nothing was left open.
    width_losses_, activation_losses_ : dict
        Held-out relative loss by width and by activation, where they were compared.
    moment_rank_ : MomentRank
        The number of neurons by the rank of E[y S₂], with the p-value of each rank, beside that search; where the law
        of the inputs is given, or with "auto" at most ten inputs pass for Gaussian
        (:func:`planted.inputs.gaussianity`), and
        :func:`planted.starts.rank_is_testable` says that there are enough rows.

    Examples
    --------
    >>> from planted import datasets, match
    >>> data = datasets.make_planted(2000, 5, 3, output="mixed", random_state=0)
    >>> est = PlantedRegressor(random_state=0).fit(data.X, data.y)
    >>> est.result_.status, match(est.network_, data.teacher).weight_error < 1e-8
    ('recovered', True)
    >>> est.choice_.chosen.name
    '3 relu neurons'
    """

    inputs_: InputLaw
    moment_rank_: MomentRank
    choice_: Choice

    def __init__(
        self,
        n_hidden: Any = "auto",
        activation: Any = "auto",
        method: str = "auto",
        inputs: Any = "auto",
        fit_bias: Any = "auto",
        random_state: Any = None,
        progress: Any = None,
        fit_intercept: Any = "auto",
        fit_skip: Any = "auto",
        time_budget: float | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.activation = activation
        self.method = method
        self.inputs = inputs
        self.fit_bias = fit_bias
        self.random_state = random_state
        self.progress = progress
        self.fit_intercept = fit_intercept
        self.fit_skip = fit_skip
        self.time_budget = time_budget

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # It looks for a network that made the data: on data from another source, however simple, it may fit poorly.
        tags.regressor_tags.poor_score = True
        tags.target_tags.multi_output = True
        return tags

    def _check_settings(self) -> None:
        if not isinstance(self.method, str) or self.method not in METHODS:
            raise ValueError(unknown("method", self.method, METHODS))
        checked_width(self.n_hidden)
        for name in ("fit_bias", "fit_intercept", "fit_skip"):
            checked_part(name, getattr(self, name))
        if not is_auto(self.activation):
            activations.get(self.activation)
        check_inputs(self.inputs)

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
        return rows.n_features if is_auto(self.n_hidden) else int(self.n_hidden)

    def _problem(self, rows: Rows, looked: Survey, progress: Progress) -> Problem:
        method, parts = self._method(), self._parts()
        if looked.constant:
            raise ValueError("y is constant: there is no network to recover")
        self.inputs_ = assumed_inputs(self.inputs, looked.X, method)
        return Problem(
            rows=rows,
            survey=looked,
            n_hidden=1 if is_auto(self.n_hidden) else int(self.n_hidden),
            activation=activations.get("relu" if is_auto(self.activation) else self.activation),
            free=Free(*(not is_auto(part) and bool(part) for part in parts)),
            inputs=self.inputs_,
            progress=progress,
        )

    def _parts(self) -> tuple[Any, Any, Any]:
        """Biases, intercept and linear part, the last one being no question where activation and width are none."""
        given = not (is_auto(self.n_hidden) or is_auto(self.activation))
        skip = False if is_auto(self.fit_skip) and given else self.fit_skip
        return self.fit_bias, self.fit_intercept, skip

    def _method(self) -> Method:
        return METHODS[self.method]

    def _chosen(self, problem: Problem) -> Problem:
        bias, intercept, skip = (None if is_auto(part) else bool(part) for part in self._parts())
        question = Question(
            activation=None if is_auto(self.activation) else problem.activation,
            n_hidden=None if is_auto(self.n_hidden) else problem.n_hidden,
            bias=bias,
            intercept=intercept,
            skip=skip,
        )
        decision = decide(problem, self._method(), question)
        choice = decision.choice
        if choice is not None:
            self.choice_ = choice
            self.width_losses_, self.activation_losses_ = choice.width_losses, choice.activation_losses
            LOG.info("chosen: %s (%s)", choice.chosen.name, choice.reason)
        if decision.rank is not None:
            self.moment_rank_ = decision.rank
        return decision.problem

    def predict(self, X: Any) -> np.ndarray:
        """Outputs (n,) of the recovered network, or (n, m) for m targets."""
        check_is_fitted(self)
        return self.network_.predict(self._inputs(X))
