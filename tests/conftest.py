"""What tests share: the embedded base, a tiny base, the folder of test data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from octavo.models.resolve import BaseSource

# a compiler would take longer than the tests; those that need compiled kernels ask for them
os.environ.setdefault("OCTAVO_COMPILE", "0")

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def embedded() -> BaseSource:
    """The embedded base, resolved; made in the user's cache at the first use. Mark tests that use it `real`."""
    from octavo.models.resolve import resolve_base
    from octavo.study import Base

    return resolve_base(Base(name="smollm2"), ROOT)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> BaseSource:
    """A random Llama of 2 layers with a byte-level tokenizer in SmolLM's way; do not write into its folder."""
    from octavo.models.resolve import BaseSource
    from tests.models.makers import tiny_base

    return BaseSource("tiny", tiny_base(tmp_path_factory.mktemp("tiny-base")))


@pytest.fixture(scope="session")
def data_folder() -> Path | None:
    """The folder OCTAVO_TEST_DATA (by default ../shared/data), or None where there is none."""
    folder = Path(os.environ.get("OCTAVO_TEST_DATA") or ROOT.parent / "shared" / "data")
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def gsm8k(data_folder: Path | None) -> Path:
    """The GSM8K test questions as JSONL; the test is skipped where they are not there."""
    if data_folder is None or not (data_folder / "gsm8k_test.jsonl").is_file():
        pytest.skip("no gsm8k_test.jsonl: set OCTAVO_TEST_DATA to the folder that has it")
    return data_folder / "gsm8k_test.jsonl"
