"""Faults of a command line, found before SGLang is started: `lint(words, target, model, cards)`."""

from __future__ import annotations

from tui.lint.finding import Finding, Fix, Severity
from tui.lint.run import lint

__all__ = ["Finding", "Fix", "Severity", "lint"]
