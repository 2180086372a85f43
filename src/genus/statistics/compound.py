"""Several statistics of the same rows, as one value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from genus.arrays import labels
from genus.arrays.labels import Axis


@dataclass(frozen=True, eq=False)
class Compound:
    """Statistics by name; every operation applies to each part.

    If no rows are left, every part is reset: a sample may then hold every row again.
    """

    parts: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.parts[name]

    @property
    def classes(self) -> Axis:
        """The classes that any part has counted."""
        found = labels.empty_axis()
        for part in self.parts.values():
            found = labels.union(found, part.classes, "classes")
        return found

    def __add__(self, other: Compound) -> Compound:
        return self._each(lambda name, part: part + other[name])

    def __sub__(self, other: Compound) -> Compound:
        return self._each(lambda name, part: part - other[name])

    def __mul__(self, factor: float) -> Compound:
        return self._each(lambda _, part: part * factor)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Compound):
            return NotImplemented
        return self.parts.keys() == other.parts.keys() and all(
            part == other[name] for name, part in self.parts.items()
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def is_finite(self) -> bool:
        """Whether all sums are finite."""
        return all(part.is_finite for part in self.parts.values())

    @property
    def is_possible(self) -> bool:
        """Whether rows can produce these sums."""
        return all(part.is_possible for part in self.parts.values())

    def under(self, own: Axis, classes: Axis) -> Compound:
        """Keep only the statistics of the classes `own`, and rename them to `classes`."""
        return self._each(lambda _, part: part.under(own, classes))

    def settled(self, before: Compound) -> Compound:
        """Return what is left of `before` after forgetting, or raise ImpossibleError."""
        return self._each(lambda name, part: part.settled(before[name]))

    def _each(self, operation: Callable[[str, Any], Any]) -> Compound:
        found = Compound({name: operation(name, part) for name, part in self.parts.items()})
        if len(found.classes):
            return found
        return Compound({name: 0 * part for name, part in found.parts.items()})
