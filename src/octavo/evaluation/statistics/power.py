"""Seeds and items that an effect needs, from how much runs and single items vary."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from octavo.evaluation.statistics.detectable import minimum_detectable, t_power
from octavo.evaluation.statistics.run_permutation import attainable, smallest_p

MOST_SEEDS, MOST_ITEMS = 1000, 10_000_000


@dataclass(frozen=True)
class Design:
    """A comparison of two recipes, both with `seeds` runs that answer the same `items`.

    Attributes:
        run_sd: standard deviation of a run's true score between seeds.
        item_sd: of one answer around what its item and its run would give; of right or wrong answers sqrt(p (1-p))
            or less.
        alpha: level of the single claim; under Holm with m claims the first has to pass alpha / m.
    """

    run_sd: float
    item_sd: float
    seeds: int
    items: int
    alpha: float = 0.05

    @property
    def recipe_se(self) -> float:
        """Standard error of the difference of the two means of runs, on these items."""
        return math.sqrt(2 / self.seeds * (self.run_sd**2 + self.item_sd**2 / self.items))

    @property
    def recipe_alpha(self) -> float:
        """The level that the run-label permutation can have with so few runs, 0 where it never rejects."""
        return attainable(self.alpha, smallest_p(self.seeds, self.seeds))

    def recipe_power(self, effect: float) -> float:
        """Probability that "this recipe differs" is found; 0 with one seed, and where permutations are too few."""
        if self.seeds < 2 or not self.recipe_alpha:
            return 0.0
        if self.recipe_se == 0:
            return float(effect != 0)
        return t_power(abs(effect) / self.recipe_se, 2 * self.seeds - 2, self.recipe_alpha)

    def recipe_detectable(self, power: float = 0.8) -> float | None:
        """The least difference of recipes found with that probability; None where none is."""
        return minimum_detectable(self.recipe_se, 2 * self.seeds - 2, self.recipe_alpha, power)

    def checkpoint_power(self, effect: float) -> float:
        """Probability that "these two checkpoints differ" is found from their paired answers; seeds play no part."""
        se = self.item_sd * math.sqrt(2 / self.items)
        if se == 0 or self.items < 2:
            return float(effect != 0 and self.items > 1)
        return t_power(abs(effect) / se, self.items - 1, self.alpha)


def seeds_needed(design: Design, effect: float, power: float = 0.8) -> int | None:
    """The fewest seeds an arm with which a difference of recipes is found; None if not even 1,000 do."""
    return _least(lambda n: replace(design, seeds=n).recipe_power(effect) >= power, 2, MOST_SEEDS, walk=64)


def items_needed(design: Design, effect: float, power: float = 0.8) -> int | None:
    """The fewest items for a claim on two checkpoints; None if not even ten million do."""
    return _least(lambda n: replace(design, items=n).checkpoint_power(effect) >= power, 2, MOST_ITEMS, walk=2)


def items_needed_for_recipe(design: Design, effect: float, power: float = 0.8) -> int | None:
    """The fewest items for a claim on recipes at the design's seeds; None where runs themselves vary too much."""
    return _least(lambda n: replace(design, items=n).recipe_power(effect) >= power, 2, MOST_ITEMS, walk=2)


def _least(enough: Callable[[int], bool], low: int, high: int, walk: int) -> int | None:
    """The least number for which `enough` holds: one by one up to `walk` (steps of an exact test make power uneven
    there), then by halving."""
    for number in range(low, walk):
        if enough(number):
            return number
    if not enough(high):
        return None
    low = walk
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low
