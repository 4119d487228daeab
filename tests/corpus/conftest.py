"""What the tests of the corpus share: an encoder made of words, real and procedural examples."""

from __future__ import annotations

import json
import os
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest

from octavo.corpus.builtin import generate
from octavo.corpus.example import Example
from octavo.corpus.sources import read_source

DATA = Path(os.environ.get("OCTAVO_TEST_DATA", Path(__file__).parents[2] / "../shared/data"))


@dataclass
class Encoded:
    ids: list[int]
    labels: list[bool]


class WordEncoder:
    """A token a word, mark or space; a header of two tokens and an end token a turn."""

    def encode_text(self, text):
        ids = [zlib.crc32(word.encode()) % 1000 + 3 for word in re.findall(r"\w+|[^\w\s]|\s+", text)]
        return Encoded([*ids, 0], [True] * (len(ids) + 1))

    def encode(self, example_messages, tools=None, where=""):
        encoded = Encoded([], [])
        for message in example_messages:
            said = self.encode_text(message["content"]).ids
            learned = message["role"] in ("assistant", "text")
            encoded.ids += [1, 2, *said]
            encoded.labels += [False, False, *[learned] * len(said)]
        return encoded


@pytest.fixture
def encoder():
    return WordEncoder()


def conversation(question="What is 2 + 2?", answer="It is 4.", name="e1", **more):
    messages = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    return Example(id=name, family="", kind=more.pop("kind", ""), seen=True, messages=messages, **more)


@pytest.fixture
def write_rows(tmp_path):
    """Write rows as JSONL and give the path."""

    def write(rows, name="rows.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def procedural():
    train, heldout = generate({"reasoning": 0.6, "conversation": 0.4}, 120, 20, 0)
    return [*train, *heldout]


@pytest.fixture(scope="session")
def worked(procedural):
    """GSM8K where it is there, else examples of the procedural corpus that have steps."""
    path = DATA / "gsm8k_test.jsonl"
    if path.is_file():
        return read_source(str(path))[:200]
    return [example for example in procedural if example.steps]


@pytest.fixture(params=["worked", "procedural"])
def corpus(request):
    """Both corpora, one after the other."""
    return request.getfixturevalue(request.param)
