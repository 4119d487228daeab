"""JSONL as people have it: byte-order marks, line ends, and what is refused with file and line."""

import json

import pytest

from octavo.corpus.example import Example, dump_lines, load_examples
from octavo.corpus.sources.jsonl import read_jsonl_rows
from octavo.errors import InputError


def row(name, mark=""):
    turns = f'{{"role": "user", "content": "Q{mark}"}}, {{"role": "assistant", "content": "A"}}'
    return f'{{"id": "{name}", "messages": [{turns}]}}'


def read(tmp_path, data):
    path = tmp_path / "f.jsonl"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return list(read_jsonl_rows(path))


def ids(tmp_path, data):
    return [value["id"] for value, _ in read(tmp_path, data)]


def test_byte_order_marks_of_files_go_and_those_of_texts_stay(tmp_path):
    text = "\ufeff" + row("a") + "\n" + row("b") + "\n\ufeff" + row("c", "[\ufeff]") + "\n"
    with_marks = read(tmp_path, text)
    without = read(tmp_path, text[1:].replace("\n\ufeff", "\n"))
    assert with_marks == without
    assert with_marks[2][0]["messages"][0]["content"] == "Q[\ufeff]"


@pytest.mark.parametrize("joint", ["\n\ufeff", "\ufeff", "\r\n\ufeff\ufeff", "\n\ufeff\n", " \ufeff "])
def test_files_glued_together_give_the_rows_of_both(tmp_path, joint):
    assert ids(tmp_path, row("a") + joint + row("b")) == ["a", "b"]


def test_a_file_of_a_mark_alone_has_no_rows(tmp_path):
    assert read(tmp_path, "\ufeff") == []
    assert read(tmp_path, "\ufeff\r\n") == []


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85", "\\u000b", "\\u001c", "\\r\\n", "\\u2028"])
def test_lines_end_at_newline_only(tmp_path, mark):
    rows = read(tmp_path, row("a", f"x{mark}y") + "\r\n\r\n" + row("b"))
    content = rows[0][0]["messages"][0]["content"]
    assert content == "Qx" + json.loads(f'"{mark}"', strict=False) + "y" if "\\" in mark else f"Qx{mark}y"
    assert [where.rsplit(":", 1)[1] for _, where in rows] == ["1", "3"]


def test_what_is_written_reads_back(tmp_path):
    text = "a\u2028b\u2029c\x85d\ufeff e\r\nf"
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": text}]
    examples = [Example(f"e{i}", "", "", True, messages, answer=None) for i in range(3)]
    path = tmp_path / "f.jsonl"
    path.write_bytes(dump_lines(examples).encode())
    assert load_examples(path) == examples
    assert len(path.read_bytes().split(b"\n")) == 4


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"a": 1', "no JSON"),
        (b"{broken}", "no JSON"),
        (b'{"a": 1} {"a": 2}', "one object a line"),
        (b'{"a": "\xff"}', "not UTF-8"),
        ("\ufeff{}".encode("utf-16"), "not UTF-8"),
        (b'{"a": "\\ud800"}', "surrogate"),
        (b'{"\\udc00": 1}', "surrogate"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "Infinity"),
        (b'{"a": 1e999}', "too large"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b"[" * 100_000, "no JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "no JSON"),
        ('{"a": 1}\u2028'.encode(), "one object a line"),
        ("\x85".encode(), "no JSON"),
    ],
)
def test_broken_lines_are_refused_with_file_and_line(tmp_path, line, says):
    with pytest.raises(InputError, match=r"f\.jsonl:3") as error:
        read(tmp_path, row("a").encode() + b"\n\n" + line)
    assert says in str(error.value)


def test_a_pair_of_surrogates_is_one_character(tmp_path):
    assert read(tmp_path, '{"a": "\\ud83d\\ude00"}')[0][0] == {"a": "😀"}


def test_large_numbers_stay_exact(tmp_path):
    assert read(tmp_path, '{"a": 18446744073709552001}')[0][0] == {"a": 18446744073709552001}


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"none\.jsonl cannot be read"):
        list(read_jsonl_rows(tmp_path / "none.jsonl"))


def test_a_row_that_is_no_object(tmp_path):
    path = tmp_path / "f.jsonl"
    path.write_text('["c9", "the row is a list"]\n')
    with pytest.raises(InputError, match=r"f\.jsonl:1.*a list"):
        load_examples(path)
