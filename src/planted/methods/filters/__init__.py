"""Recipes for patches that share filters, one a module."""
