"""One module a paper: its figures and numbers."""
