"""One named error per mistake.

Every message says three things in one line: what was found, the rule it breaks, and what to do.
All of them are `ValueError` too, so code that knows nothing of this library still catches them.
"""

from __future__ import annotations


class UnperturbError(ValueError):
    """The base of every error that this library raises on purpose.

    Example:
        >>> raise UnperturbError("omega is 1.5", "a weight lies in [0, 1]", "pass 0.15 for 15 %")
        Traceback (most recent call last):
            ...
        unperturb.errors.UnperturbError: omega is 1.5; a weight lies in [0, 1]. pass 0.15 for 15 %
    """

    def __init__(self, found: str, rule: str, remedy: str) -> None:
        super().__init__(found, rule, remedy)
        self.found = found
        self.rule = rule
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.found}; {self.rule}. {self.remedy}"


class InvalidOptionError(UnperturbError):
    """A setting has a value outside its range, or a name that is not known."""


class InvalidLevelsError(UnperturbError):
    """The reward levels are not a finite, ascending list of at least two values."""


class NonFiniteRewardError(UnperturbError):
    """A reward is NaN or infinite."""


class UnknownRewardError(UnperturbError):
    """A reward is none of the exact levels."""


class InvalidConfusionError(UnperturbError):
    """An array is no confusion matrix: not square, not in [0, 1], or rows that don't sum to one."""


class SingularConfusionError(UnperturbError):
    """C has no usable inverse: the observed rewards say too little about the true ones."""


class InvalidCellsError(UnperturbError):
    """A description of state-action cells makes no sense, or asks for too many of them."""


class OutsideSpaceError(UnperturbError):
    """An observation or an action does not fit the space that the cells were made for."""


class InvalidCountsError(UnperturbError):
    """A count table has the wrong shape, a negative entry or one that is not finite."""


class InvalidPriorError(UnperturbError):
    """A prior over C or over the levels has the wrong shape or values."""


class InvalidAnchorsError(UnperturbError):
    """An anchor names a cell or a level that does not exist."""


class BatchMismatchError(UnperturbError):
    """Arrays that describe the same transitions differ in length."""


class NotFittedError(UnperturbError, AttributeError):
    """A result was asked for before there was anything to estimate it from."""


class StateMismatchError(UnperturbError):
    """A saved state belongs to something configured differently."""


class DamagedFileError(UnperturbError):
    """A file can't be read as what it claims to be."""


class RecordExistsError(UnperturbError):
    """A finished unit of work would have been overwritten."""


class MissingRecordError(UnperturbError):
    """A table or a figure was asked for before its runs were finished."""


class MissingFileError(UnperturbError):
    """A file or a dataset does not exist."""


class MissingColumnError(UnperturbError):
    """A log lacks a column, or none of its names could be guessed."""


class BadRowError(UnperturbError):
    """A row of a log holds something that can't be used."""


class OutputError(UnperturbError):
    """A result can't be written where it was asked for."""


class MissingExtraError(UnperturbError, ImportError):
    """A part of the library needs packages that are not installed."""
