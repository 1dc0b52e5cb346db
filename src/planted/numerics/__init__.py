"""Numbers, arrays and files: what every other part is built on."""
