"""Data: planted, with a known teacher, and read from files."""

from planted.datasets._images import names_images, read_image_table, read_images
from planted.datasets._laws import INPUTS
from planted.datasets._patches import images_to_patches, make_planted_conv, patch_to_image, to_patches
from planted.datasets._planted import TASKS, make_planted
from planted.datasets._tables import DataError, Table, open_table, read_arrays, read_inputs, read_table, write_table
from planted.datasets._teachers import OUTPUTS, WEIGHTS, teacher_output, teacher_weights
from planted.datasets._traced import draw_planted
from planted.datasets._trained import SOURCES, make_trained

__all__ = [
    "INPUTS",
    "OUTPUTS",
    "SOURCES",
    "TASKS",
    "WEIGHTS",
    "DataError",
    "Table",
    "draw_planted",
    "images_to_patches",
    "make_planted",
    "make_planted_conv",
    "make_trained",
    "names_images",
    "open_table",
    "patch_to_image",
    "read_arrays",
    "read_image_table",
    "read_images",
    "read_inputs",
    "read_table",
    "teacher_output",
    "teacher_weights",
    "to_patches",
    "write_table",
]
