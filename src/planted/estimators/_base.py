"""What the front doors share: one path from rows, wherever they are, to a network with its verdict."""

from __future__ import annotations

import logging
import time
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, validate_data

from planted.certificates import Certificate
from planted.estimators._presented import Presented
from planted.estimators._tables import coded_table, fitted_table, text_labels_refused
from planted.estimators._values import check_meaning, check_numbers, check_targets
from planted.estimators._weighting import row_weights
from planted.methods import (
    Method,
    Problem,
    Recovery,
    Verdict,
    agreeing,
    certificate,
    in_noise_units,
    in_own_units,
    observations,
)
from planted.names import count_of
from planted.numerics.deadline import time_budget
from planted.numerics.precision import float64
from planted.numerics.progress import Progress, silent
from planted.numerics.reading import brief_errors, shortened
from planted.numerics.seeding import words_from
from planted.numerics.threads import threads_for
from planted.pages import Evidence
from planted.rows import (
    ChunkedRows,
    Counts,
    Journal,
    PassProgress,
    Rows,
    Survey,
    fingerprint,
    in_memory,
    in_target_units,
    open_rows,
    outside_memory,
    survey,
)

LOG = logging.getLogger("planted")
MOST_NEURONS = 65_536
"""Neurons that may be asked for: a block of rows takes 8,192 numbers for each."""
_ORDINARY = 1e100
_LEAST_SAMPLE, _ROWS_PER_PARAMETER, _SAMPLE_BYTES = 20_000, 60, 2**27


def sample_size(n_features: int, n_hidden: int) -> int:
    """Rows of the sample that searches run on: 60 a parameter, at least 20,000, at most 128 MB.

    >>> sample_size(50, 4), sample_size(1000, 1000)
    (20000, 16777)
    """
    wanted = max(_LEAST_SAMPLE, _ROWS_PER_PARAMETER * n_hidden * (n_features + 2))
    return int(min(wanted, _SAMPLE_BYTES // (8 * n_features)))


class PlantedEstimator(Presented, BaseEstimator):
    """Base of the estimators: survey, method, verdict, certificate and errors, for arrays, files and Dask alike.

    A subclass says what is asked (`_problem`), which method answers it (`_method`), and what its settings must satisfy
    (`_check_settings`, before any work; `_check_rows`, once the rows have been looked at).
    """

    scales_targets = True
    """Whether a multiple of the targets is explained by the same neurons with other outputs."""

    time_budget: Any
    random_state: Any
    progress: Any
    result_: Recovery
    certificate_: Certificate
    evidence_: Evidence
    classes_: np.ndarray
    survey_: Survey
    fingerprint_: dict[str, Any]
    passes_: Counts
    n_hidden_: int
    n_features_in_: int
    width_losses_: dict[int, float]

    @abstractmethod
    def _check_settings(self) -> None:
        """Raise a ValueError for a setting that cannot be, before any row is read."""

    @abstractmethod
    def _validated(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Arrays that a caller gave, checked: inputs and targets as float64."""

    @abstractmethod
    def _problem(self, rows: Rows, looked: Survey, progress: Progress) -> Problem:
        """What is asked, with the width as given, or one where it is to be chosen; its key is added."""

    @abstractmethod
    def _method(self) -> Method:
        """The method that answers."""

    def _rows(self, rows: ChunkedRows, looked: Survey) -> tuple[ChunkedRows, Survey]:
        """Rows that are read piece by piece, and their survey, brought into the form that the problem takes."""
        return rows, looked

    def _open(self, X: Any, y: Any) -> ChunkedRows:
        """Rows outside memory."""
        return open_rows(X, y)

    def _joined(self, looked: Survey) -> Survey:
        """The survey of rows in memory in a form that a row of weight w and w equal rows have in common."""
        return looked

    def _chosen(self, problem: Problem) -> Problem:
        """The problem with everything chosen that a caller left open."""
        self._method().check(problem)
        return problem

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **options: Any) -> Self:
        """Recover the network from inputs X, targets y and row weights (n,).

        A row of weight w counts like w equal rows; rows of weight zero are left out.

        X may also be rows that do not fit in memory: the path of a file or folder (see
        :func:`planted.rows.file_rows`), :class:`planted.rows.ChunkedRows`, Dask arrays X and y, or a Dask dataframe;
        y is then the name of the target column, "y" unless given, or several names. Options for these: `checkpoint=`
        names a folder that keeps what passes over the rows have given, `resume=True` goes on from it,
        `keep_checkpoint=True` leaves it there when the fit is done (:func:`planted.rows.delete_checkpoint` removes it),
        and `sample_rows=` sets how many rows the search takes into memory. `survey_` and `passes_` tell what was seen
        of the rows and how often. `names=` and `targets=` name inputs and targets, for what
        is said of them.

        X may be a DataFrame of pandas, polars or Arrow, and y the name of one of its columns, or several; or a
        :class:`planted.datasets.Table`, which has its target. Files that cannot be read in blocks (compressed ones,
        Arrow, Excel, NPZ), and those whose columns options are about, are read into memory as such tables. Columns of
        text and missing values are refused unless `categorical=` and `missing=` say what becomes of them, `exclude=`
        leaves columns out (see :func:`planted.datasets.open_table`); `predict` then takes tables of the same columns in
        any order.
        """
        began = time.perf_counter()
        with brief_errors(), time_budget(self.time_budget):
            self._fit(words_from(self.random_state), X, y, sample_weight, options)
        # What a caller waited for: choices, compilation and certificate included.
        self.result_ = replace(self.result_, seconds=time.perf_counter() - began)
        verdict = self.result_.verdict
        LOG.info("%s: %s (%.1f s)", verdict.status, verdict.reason, self.result_.seconds)
        if not verdict.success:
            warnings.warn(f"{verdict.status}: {verdict.reason}. {verdict.advice}", ConvergenceWarning, stacklevel=2)
        return self

    @float64
    def _fit(self, key: np.ndarray, X: Any, y: Any, sample_weight: Any, options: dict[str, Any]) -> None:
        self._check_settings()
        if self.progress is not None and not callable(self.progress):
            raise ValueError(f"progress must be a function or None, not {self.progress!r}")
        self._weighting = ""
        self._names, self.target_names_ = tuple(options.pop("names", ())), tuple(options.pop("targets", ()))
        X, y, sample_weight = fitted_table(self, X, y, sample_weight, options)
        if outside_memory(X):
            if sample_weight is not None:
                raise TypeError("row weights of rows outside memory belong to the rows: see planted.rows.block_rows")
            with text_labels_refused(self):
                self._fit_chunks(key, self._open(X, y), **options)
        else:
            for name, value in (("X", X), ("y", y), ("sample_weight", sample_weight)):
                check_meaning(name, value)
            check_numbers("X", X)
            if not is_classifier(self):
                check_targets(y)
            if options:
                raise TypeError(f"fit takes X, y and sample_weight, not {', '.join(sorted(options))}")
            self._fit_arrays(key, X, y, sample_weight)

    def _inputs(self, X: Any) -> np.ndarray:
        """Rows to predict from, in the form of those that were fitted."""
        with brief_errors():
            table = coded_table(self, X)
            check_meaning("X", table)
            check_numbers("X", table)
            return np.asarray(validate_data(self, table, dtype=np.float64, reset=False))

    def _fit_arrays(self, key: np.ndarray, X: Any, y: Any, sample_weight: Any) -> None:
        inputs, targets = self._validated(X, y)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, inputs, dtype=np.float64, ensure_non_negative=True)
            if not np.isfinite(weight.sum()):
                raise ValueError("the sum of sample_weight leaves float64: divide the weights by their largest one")
            self._weighting = row_weights(weight)
            counts = weight > 0
            inputs, targets, weight = inputs[counts], targets[counts], weight[counts]
        targets = self._coded(targets)
        check_scale(float(np.max(np.abs(inputs), initial=0.0)))
        unit = target_unit(targets) if self.scales_targets else 1.0
        looked = Survey.of(inputs, targets / unit, weight)
        self.fingerprint_ = fingerprint(looked)
        looked = self._joined(looked)
        problem = self._problem(in_memory(looked), looked, self.progress or silent)
        with threads_for(inputs.size):
            self._recover(replace(problem, key=key), rows_observed(looked, max(len(targets), len(looked.y))))
        if unit != 1.0:
            self.result_ = self.result_.in_units(unit)

    def _coded(self, targets: np.ndarray) -> np.ndarray:
        """Numbers for the targets of the rows that count."""
        return targets

    def _fit_chunks(
        self,
        key: np.ndarray,
        rows: ChunkedRows,
        *,
        checkpoint: Any = None,
        resume: bool = False,
        sample_rows: int | None = None,
        keep_checkpoint: bool = False,
    ) -> None:
        self._method().check_source(in_chunks=True)
        progress = PassProgress(self.progress or silent)
        before = copy(rows.engine.counts)
        with rows.engine.observed(progress.observe):
            sample = sample_rows or sample_size(int(np.prod(rows.shape)), self._width_guess(rows))
            first = looked = survey(rows, sample)
            check_scale(float(max(np.max(np.abs(looked.X)), np.sqrt(np.max(np.diagonal(looked.second))))))
            unit = target_unit(np.array([looked.smallest, looked.largest])) if self.scales_targets else 1.0
            if unit != 1.0:
                rows = in_target_units(rows, unit)
                looked = survey(rows, sample)
            with self._journal(looked, checkpoint, resume, keep_checkpoint) as journal:
                coded, looked = self._rows(replace(rows, memory=journal), looked)
                problem = replace(self._problem(coded, looked, progress), key=key, once=journal.once)
                if len(looked.y) < problem.unknowns <= looked.n_rows:
                    raise ValueError(
                        f"the search runs on a sample in memory, whose {len(looked.y):,} rows cannot determine "
                        f"{problem.unknowns:,} unknowns; give a larger sample_rows"
                    )
                self._recover(problem, looked.n_rows)
        if unit != 1.0:
            self.result_ = self.result_.in_units(unit)
        self.n_features_in_ = int(np.prod(rows.shape))
        self.fingerprint_ = fingerprint(looked)
        self.survey_, self.passes_ = first, rows.engine.counts.since(before)

    def _width_guess(self, rows: ChunkedRows) -> int:
        """Neurons that the size of the sample is made for."""
        return 1

    @contextmanager
    def _journal(self, looked: Survey, folder: Any, resume: bool, stays: bool) -> Iterator[Journal]:
        """A journal of this computation, removed when it has come to its end unless it stays."""
        if folder is not None and self.random_state is None:
            raise ValueError("a checkpoint needs random_state: without it a resumed fit would be another one")
        settings = {name: value for name, value in self.get_params(deep=False).items() if name != "progress"}
        if "activation" in settings and not is_auto(settings["activation"]):
            from planted import activations

            # A caller's own activation is known by its values, not by its name.
            act = activations.get(settings["activation"])
            values = " ".join(f"{value:.6g}" for value in act(np.array([-1.3, -0.2, 0.7, 2.1])))
            settings["activation"] = f"{act} ({values})"
        about = fingerprint(looked) | {"sample": len(looked.y)}
        journal = Journal(folder, about | {name: str(value) for name, value in settings.items()}, resume)
        try:
            yield journal
            if not stays:
                journal.delete()
        finally:
            journal.close()

    def _recover(self, problem: Problem, n_rows: int) -> None:
        """Width, method, verdict, certificate: the path of every fit to so many rows."""
        named = getattr(self, "feature_names_in_", ())
        names = self._names or tuple(named) or getattr(problem.rows, "names", ())
        self.input_names_ = tuple(str(name) for name in names)
        problem = replace(problem, names=self.input_names_)
        looked = problem.survey
        several = self.scales_targets and looked.y.ndim > 1
        if several:
            problem = in_own_units(problem)
        LOG.info("fitting %s rows of %s inputs by %s", f"{n_rows:,}", looked.first.size, type(self).__name__)
        problem = self._chosen(problem)
        # What was left open may have decided the method.
        method = self._method()
        self.n_hidden_ = problem.n_hidden
        neurons = count_of(problem.n_hidden, f"{problem.activation.name} neuron")
        LOG.info("%s, method %s", neurons if problem.n_hidden else "a linear function", method.name)
        result = method(problem)
        if several:
            problem, result = in_noise_units(problem, result)
        self.certificate_ = certificate(problem, result)
        verdict = agreeing(result.verdict, self.certificate_, looked.total_weight)
        self.result_ = replace(result, verdict=verdict)
        if problem.units is not None:
            self.result_ = self.result_.in_units(problem.units)
        self.evidence_ = self._evidence(looked.X, looked.y, n_rows=n_rows, weight=looked.weight)

    @property
    def network_(self) -> Any:
        """The recovered network, on the caller's own inputs."""
        return self._fitted().network

    @property
    def verdict_(self) -> Verdict:
        """Status, reason and advice, with the facts they follow from; `result_.status` is its status."""
        return self._fitted().verdict

    @property
    def method_(self) -> str:
        """The method whose directions were refined."""
        return self._fitted().method

    @property
    def standard_errors_(self) -> Any:
        """Standard errors of every parameter of the canonical network; missing above 1,000 parameters."""
        errors = self._fitted().uncertainty
        if errors is None:
            raise AttributeError("standard errors are computed for at most 1,000 parameters")
        return errors

    def _fitted(self) -> Recovery:
        if "result_" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        return self.result_


def rows_observed(looked: Survey, given: int) -> int:
    """How many rows are said to be there: those given, or the sum of weights that are numbers of observations.

    >>> X, y, weight = np.ones((2, 1)), np.arange(2.0), np.array([3.0, 2.0])
    >>> rows_observed(Survey.of(X, y, weight), 2), rows_observed(Survey.of(X, y, weight / 4), 2)
    (5, 2)
    """
    weight = looked.weight
    whole = weight is not None and np.array_equal(weight, np.round(weight))
    return round(looked.total_weight) if whole and observations(looked).counted else given


def check_scale(largest: float) -> None:
    """Raise a ValueError where the largest absolute value of the inputs has no square in float64, or none but zero.

    >>> check_scale(1e200)
    Traceback (most recent call last):
    ValueError: X has values beyond 1e+100: bring the inputs to other units
    """
    if not largest <= _ORDINARY:
        raise ValueError(f"X has values beyond {_ORDINARY:g}: bring the inputs to other units")
    if largest == 0:
        raise ValueError("X is zero everywhere: there is nothing that y could depend on")
    if largest < 1 / _ORDINARY:
        raise ValueError(f"X has no value beyond {1 / _ORDINARY:g}: bring the inputs to other units")


def target_unit(targets: np.ndarray) -> float:
    """A power of two that brings targets to the size of one where their squares leave float64, otherwise one.

    >>> target_unit(np.array([3.0])), target_unit(np.array([3e-200])) < 1e-190
    (1.0, True)
    """
    size = float(np.max(np.abs(targets), initial=0.0))
    ordinary = size == 0 or not np.isfinite(size) or 1 / _ORDINARY < size < _ORDINARY
    return 1.0 if ordinary else float(2.0 ** np.floor(np.log2(size)))


def is_auto(setting: Any) -> bool:
    """Whether a setting is left open.

    >>> is_auto("auto"), is_auto(3)
    (True, False)
    """
    return isinstance(setting, str) and setting == "auto"


def checked_part(name: str, value: Any) -> None:
    """Raise a ValueError unless a part of a network is asked for, refused or left open.

    >>> checked_part("fit_bias", "yes")
    Traceback (most recent call last):
    ValueError: fit_bias must be True, False or 'auto', not 'yes'
    """
    if not (is_auto(value) or isinstance(value, (bool, np.bool_))):
        raise ValueError(f"{name} must be True, False or 'auto', not {shortened(repr(value), 60)}")


def checked_width(n_hidden: Any) -> None:
    """Raise a ValueError unless `n_hidden` is a positive integer that can be computed with, or "auto".

    >>> checked_width(0)
    Traceback (most recent call last):
    ValueError: n_hidden must be a positive integer or 'auto', not 0
    """
    known = isinstance(n_hidden, str) and n_hidden == "auto"
    number = isinstance(n_hidden, (int, np.integer)) and not isinstance(n_hidden, bool) and n_hidden >= 1
    if not (known or number):
        raise ValueError(f"n_hidden must be a positive integer or 'auto', not {shortened(repr(n_hidden), 60)}")
    if number and n_hidden > MOST_NEURONS:
        raise ValueError(f"n_hidden is at most {MOST_NEURONS:,}, not {shortened(str(n_hidden), 40)}")
