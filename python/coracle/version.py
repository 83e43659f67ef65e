"""The version of this package, and of the program it needs."""

__version__ = "0.1.0"
