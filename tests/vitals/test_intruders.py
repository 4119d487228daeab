"""Intruder dimensions against numpy's SVD and by construction."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from octavo.vitals.intruders import BOUND, LARGEST, intruder_dimensions, left_vectors, relative_update


def plain(base: np.ndarray, tuned: np.ndarray) -> int:
    """The definition, a vector at a time."""
    before, after = np.linalg.svd(base)[0], np.linalg.svd(tuned)[0]
    count = 0
    for j in range(min(LARGEST, *base.shape)):
        cosines = [abs(float(before[:, i] @ after[:, j])) for i in range(min(base.shape))]
        count += max(cosines) < BOUND
    return count


@pytest.mark.parametrize("shape", [(24, 24), (40, 16), (16, 40), (6, 5)])
@pytest.mark.parametrize("size", [0.01, 1.0, 10.0])
def test_they_are_those_of_the_definition(shape: tuple[int, int], size: float) -> None:
    draw = np.random.default_rng(shape[0])
    base = draw.normal(size=shape)
    tuned = base + size * draw.normal(size=(shape[0], 3)) @ draw.normal(size=(3, shape[1]))
    found = intruder_dimensions(left_vectors(torch.tensor(base)), torch.tensor(tuned))
    assert found == plain(base, tuned)


def test_a_direction_that_the_base_has_is_none_and_a_new_one_is_one() -> None:
    draw = np.random.default_rng(3)
    base = draw.normal(size=(32, 48))
    u, _, v = np.linalg.svd(base, full_matrices=False)
    known = base + 100 * np.outer(u[:, 5], v[5])
    # the same share of every direction of the base: a cosine of 1/sqrt(32) with each
    new = base + 100 * np.outer(u.sum(axis=1) / np.sqrt(32), v[5])
    vectors = left_vectors(torch.tensor(base))
    assert intruder_dimensions(vectors, torch.tensor(known)) == 0
    assert intruder_dimensions(vectors, torch.tensor(new)) >= 1


def test_the_relative_update_is_a_ratio_of_norms() -> None:
    draw = np.random.default_rng(4)
    base, delta = draw.normal(size=(5, 7)), draw.normal(size=(5, 7))
    expected = np.linalg.norm(delta) / np.linalg.norm(base)
    assert relative_update(torch.tensor(base), torch.tensor(delta)) == pytest.approx(expected, rel=1e-12)
    assert relative_update(torch.zeros(2, 2), torch.ones(2, 2)) is None
