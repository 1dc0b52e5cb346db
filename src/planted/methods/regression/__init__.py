"""Recipes for real targets, one a module."""
