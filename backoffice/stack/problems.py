"""What can keep the stack from running, said in one sentence to the person who started it."""

from __future__ import annotations


class StackProblem(Exception):
    """Stop with one sentence that says what is wrong and what to do about it."""
