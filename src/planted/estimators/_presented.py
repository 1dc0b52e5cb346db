"""What a fitted estimator shows of itself: summary, report, file, intervals, and its looks in a notebook."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from planted.certificates import unit_scaled
from planted.estimators._saved import signature_of
from planted.estimators._summary import Summary, summarise
from planted.methods import Recovery
from planted.names import count_of
from planted.networks import Network
from planted.pages import Evidence, Subject, displayed, evidence, fragment, subject_of, write_report


class Presented:
    """The part of every estimator that presents a fit."""

    result_: Recovery
    evidence_: Evidence
    classes_: np.ndarray
    fingerprint_: dict[str, Any]
    n_features_in_: int
    network_: Any
    _validated: Any

    def _evidence(self, X: np.ndarray, y: np.ndarray, **about: Any) -> Evidence:
        """What rows say of the network, in few numbers."""
        labels = is_classifier(self)
        return evidence(displayed(self.result_.network, self.result_.uncertainty), X, y, labels=labels, **about)

    def _subject(self, **about: Any) -> Subject:
        """What a page shows, weights as :meth:`summary` has them."""
        subject, errors = subject_of(self, **about), self.result_.uncertainty
        network, scale = displayed(self.result_.network, errors), self.evidence_.scale
        if not isinstance(network, Network) or (errors is not None and "filters" in errors.estimate):
            return subject
        return replace(subject, scaled=unit_scaled(network, scale, errors), scale=scale)

    def report(self, path: str | PathLike[str], X: Any = None, y: Any = None, **about: Any) -> Path:
        """Write one HTML page with the answer, the weights, the fit, the search and the certificate.

        Parameters
        ----------
        path : str or path
        X, y : arrays, optional
            Rows that the fit did not see, to compare the network with. Without them the page compares each row of the
            fit with what the network would say of it had the row been left out.
        **about
            `names` and `targets` of the columns, and `model`, the file that the network was written to.

        Returns
        -------
        Path

        Examples
        --------
        >>> import tempfile
        >>> from planted import PlantedRegressor, datasets
        >>> data = datasets.make_planted(500, 2, 1, random_state=0)
        >>> est = PlantedRegressor(1, random_state=0).fit(data.X, data.y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     est.report(f"{folder}/report.html", names=["age", "income"]).name
        'report.html'
        """
        check_is_fitted(self)
        fresh = None
        if X is not None:
            other = copy(self)
            rows, truth = other._validated(X, y)
            if other.n_features_in_ != self.n_features_in_:
                raise ValueError(
                    f"X has {count_of(other.n_features_in_, 'input')}, but the network takes {self.n_features_in_}"
                )
            if not np.array_equal(getattr(other, "classes_", ()), getattr(self, "classes_", ())):
                raise ValueError(f"y has other classes than the fit: {other.classes_}")
            fresh = self._evidence(rows, truth, fresh=True)
        return write_report(path, self._subject(evidence=fresh, **about))

    def summary(self, level: float | None = None) -> Summary:
        """What was found, as a table: conclusion, scores, and every neuron with its strength, activity and weights.

        Weights are per standard deviation of their input; neurons of a positively homogeneous φ have weights of length
        one, and the strongest comes first. Each has its standard error, or an interval where `level` is given.

        Parameters
        ----------
        level : float, optional
            Of intervals, such as 0.95.

        Returns
        -------
        Summary
            Printing it shows the table.

        Examples
        --------
        >>> from planted import PlantedRegressor, datasets
        >>> data = datasets.make_planted(300, 2, 1, noise=0.1, random_state=0)
        >>> est = PlantedRegressor(1, activation="relu", random_state=0).fit(data.X, data.y, names=["age", "pay"])
        >>> "active in" in str(est.summary()), [part["age"][0] > 0 for part in est.summary().parts]
        (True, [True])
        """
        check_is_fitted(self)
        return summarise(self, level)

    def save(self, path: str | PathLike[str], about: Any = None, **known: Any) -> Path:
        """Write the network with its signature: names of columns, scales, encoding, task, classes, patch, versions.

        Parameters
        ----------
        path : str or path
        about : dict, optional
            What the network belongs to; the fingerprint of the data if omitted.
        **known
            Fields of :class:`planted.networks.Signature` that the estimator does not know, such as `targets`.

        Returns
        -------
        Path
            :func:`planted.load` reads it.

        Examples
        --------
        >>> import tempfile
        >>> from planted import PlantedRegressor, datasets, load
        >>> data = datasets.make_planted(200, 2, 1, random_state=0)
        >>> est = PlantedRegressor(1, random_state=0).fit(data.X, data.y, names=["age", "pay"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     load(est.save(f"{folder}/model", targets=("price",))).signature.targets
        ('price',)
        """
        check_is_fitted(self)
        return self.network_.save(path, about or self.fingerprint_, signature_of(self, **known))

    def _repr_html_(self) -> str:
        """The verdict, the formula and the strongest neurons in a notebook; its settings before it is fitted."""
        return fragment(self._subject()) if "result_" in self.__dict__ else estimator_html_repr(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def confidence_intervals(self, level: float = 0.95) -> dict[str, np.ndarray]:
        """Lower and upper ends (2, …) of every parameter of the canonical network, `standard_errors_.network`.

        >>> from planted import PlantedRegressor, datasets
        >>> data = datasets.make_planted(500, 2, 1, noise=0.1, random_state=0)
        >>> est = PlantedRegressor(1, "relu", fit_bias=False, fit_intercept=False, random_state=0)
        >>> est = est.fit(data.X, data.y)
        >>> lower, upper = est.confidence_intervals(0.99)["output"]
        >>> bool(lower[0] < 1 < upper[0])
        True
        """
        check_is_fitted(self)
        if self.result_.uncertainty is None:
            raise ValueError("standard errors are computed for at most 1,000 parameters")
        return self.result_.uncertainty.intervals(level)
