"""`python -m planted`: the command line."""

from planted.cli import main

if __name__ == "__main__":
    main()
