"""Allocator settings that must not stand together, wherever they are written."""

from __future__ import annotations

import pytest
import torch

from octavo.errors import InputError
from octavo.training.allocator import NAMES, allocator_settings, check_allocator_settings
from octavo.training.device import pick_device


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "text",
    [
        "expandable_segments:True,max_split_size_mb:128",
        "max_split_size_mb:128, expandable_segments:True",
        "garbage_collection_threshold:0.8,expandable_segments:true,max_split_size_mb:64",
    ],
)
def test_both_in_one_variable_are_refused(name: str, text: str):
    with pytest.raises(InputError, match=rf"^{name}: expandable_segments and max_split_size_mb"):
        check_allocator_settings({name: text})


def test_both_in_two_variables_are_refused():
    environ = {NAMES[0]: "expandable_segments:True", NAMES[2]: "max_split_size_mb:512"}
    with pytest.raises(
        InputError, match=f"{NAMES[0]} and {NAMES[2]}: .*export {NAMES[0]}=expandable_segments:True"
    ):
        check_allocator_settings(environ)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "expandable_segments:True",
        "max_split_size_mb:128",
        "expandable_segments:False,max_split_size_mb:128",
    ],
)
def test_one_of_them_is_fine(text: str):
    check_allocator_settings({NAMES[1]: text})


def test_settings_are_read_with_their_names():
    assert allocator_settings({"PYTORCH_HIP_ALLOC_CONF": "a:1, b:x:y", "OTHER": "c:2"}) == {
        "PYTORCH_HIP_ALLOC_CONF": {"a": "1", "b": "x:y"}
    }


def test_training_does_not_begin_with_them(monkeypatch: pytest.MonkeyPatch):
    assert pick_device().type == ("cuda" if torch.cuda.is_available() else "cpu")
    monkeypatch.setenv("PYTORCH_HIP_ALLOC_CONF", "expandable_segments:True,max_split_size_mb:128")
    with pytest.raises(InputError, match="take max_split_size_mb out"):
        pick_device()
