"""One module per paper: every figure and number it reports."""
