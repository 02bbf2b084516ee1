"""Estimators of the confusion matrix, one file per method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unperturb.errors import InvalidOptionError
from unperturb.estimators.base import Estimator
from unperturb.estimators.dawid_skene import DawidSkene
from unperturb.estimators.hierarchical import Hierarchical
from unperturb.estimators.known import Known
from unperturb.estimators.majority_vote import MajorityVote
from unperturb.estimators.streaming import StreamingDawidSkene
from unperturb.estimators.structured import Structured

__all__ = [
    "DawidSkene",
    "Estimator",
    "Hierarchical",
    "Known",
    "MajorityVote",
    "StreamingDawidSkene",
    "Structured",
    "estimator_from",
]

_BY_NAME: dict[str, type[Estimator]] = {
    cls.name: cls
    for cls in (DawidSkene, Hierarchical, Known, MajorityVote, StreamingDawidSkene, Structured)
}


def estimator_from(description: Any) -> Estimator:
    """Give an estimator from its name, its `config()`, or itself.

    Example:
        >>> estimator_from("majority-vote")
        MajorityVote(anchors=None, prior='diagonal')
    """
    if isinstance(description, Estimator):
        return description
    if not isinstance(description, str | Mapping):
        raise InvalidOptionError(
            f"estimator is {description!r}",
            "it is a name, an estimator object or what config() gives",
            "pass 'dawid-skene', or an object such as estimators.DawidSkene(prior='reverse')",
        )
    settings: dict[str, Any] = (
        {"name": description} if isinstance(description, str) else dict(description)
    )
    name = settings.pop("name", None)
    if name not in _BY_NAME:
        raise InvalidOptionError(
            f"estimator {name!r} is not known",
            f"the estimators are {', '.join(sorted(_BY_NAME))}",
            "pass one of these names, or an estimator object",
        )
    if settings.get("anchors"):
        # JSON turns the keys of a dictionary into text.
        settings["anchors"] = {int(cell): level for cell, level in settings["anchors"].items()}
    try:
        return _BY_NAME[name](**settings)
    except TypeError as error:
        raise InvalidOptionError(
            f"estimator {name!r} can't be made from {sorted(settings)}",
            str(error),
            f"build it yourself: unperturb.estimators.{_BY_NAME[name].__name__}(...)",
        ) from error
