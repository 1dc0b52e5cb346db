"""Where rows come from, and how sums over them are taken."""

from planted.rows._base import Block, Rows
from planted.rows._fresh import FreshRows
from planted.rows._memory import BLOCK_SIZE, ArrayRows

__all__ = ["BLOCK_SIZE", "ArrayRows", "Block", "FreshRows", "Rows"]
