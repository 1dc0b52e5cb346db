"""Recipes for labels, one a module."""
