"""Plots in scikit-learn's style: displays that are made from a model and drawn on axes.

For plots that need only labels and probabilities, use scikit-learn's ConfusionMatrixDisplay,
RocCurveDisplay and CalibrationDisplay, which accept genus's classifiers.
"""

from genus.plots.bins import BinsDisplay
from genus.plots.boundary import BoundaryDisplay
from genus.plots.columns import ColumnDensityDisplay
from genus.plots.dependence import DependenceDisplay
from genus.plots.evidence import EvidenceDisplay
from genus.plots.image import ImageDisplay
from genus.plots.learning import LearningCurveDisplay, NormalityDisplay
from genus.plots.normal import NormalDisplay
from genus.plots.posterior import PosteriorDisplay
from genus.plots.sigmoid import SigmoidDisplay
from genus.plots.smoothing import SmoothingDisplay
from genus.plots.style import style
from genus.plots.tree import TreeDisplay

__all__ = [
    "BinsDisplay",
    "BoundaryDisplay",
    "ColumnDensityDisplay",
    "DependenceDisplay",
    "EvidenceDisplay",
    "ImageDisplay",
    "LearningCurveDisplay",
    "NormalDisplay",
    "NormalityDisplay",
    "PosteriorDisplay",
    "SigmoidDisplay",
    "SmoothingDisplay",
    "TreeDisplay",
    "style",
]
