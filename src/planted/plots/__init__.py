"""Result in, figure out."""

from planted.plots._landscapes import plot_slice, plot_spectrum
from planted.plots._model import (
    calibration,
    plot_calibration,
    plot_chances,
    plot_histogram,
    plot_residuals,
    plot_response,
    plot_weights,
    save_label_fit,
    save_model,
)
from planted.plots._paths import (
    animate_permutation,
    plot_descent,
    plot_permutation,
    plot_permutation_frames,
    plot_sphere,
)
from planted.plots._pictures import KINDS, save_picture
from planted.plots._reading import plot_reading, save_reading, strengths
from planted.plots._results import (
    plot_filter,
    plot_losses,
    plot_overlap,
    plot_prediction,
    plot_two_phases,
    plot_widths,
    save_conv_fit,
    save_demo,
    save_fit,
    save_study,
)
from planted.plots._trajectory import Trajectory, follow
from planted.plots._write import save_figure

__all__ = [
    "KINDS",
    "Trajectory",
    "animate_permutation",
    "calibration",
    "follow",
    "plot_calibration",
    "plot_chances",
    "plot_descent",
    "plot_filter",
    "plot_histogram",
    "plot_losses",
    "plot_overlap",
    "plot_permutation",
    "plot_permutation_frames",
    "plot_prediction",
    "plot_reading",
    "plot_residuals",
    "plot_response",
    "plot_slice",
    "plot_spectrum",
    "plot_sphere",
    "plot_two_phases",
    "plot_weights",
    "plot_widths",
    "save_conv_fit",
    "save_demo",
    "save_figure",
    "save_fit",
    "save_label_fit",
    "save_model",
    "save_picture",
    "save_reading",
    "save_study",
    "strengths",
]
