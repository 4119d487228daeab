"""Rows of every shape become the same examples; columns of other names are mapped; CSV files and hub names."""

import json
import sys
import types

import pytest

from octavo.corpus.sources import read_source
from octavo.corpus.sources.hub import parse_hub_spec
from octavo.corpus.sources.shapes import example_from_row
from octavo.errors import InputError

ASK, SAY = {"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}


def made(row, fields=None):
    return example_from_row(row, "f.jsonl:3", "f:3", fields)


@pytest.mark.parametrize(
    "row",
    [
        {"messages": [ASK, SAY]},
        {"prompt": "Q", "completion": "A"},
        {"prompt": [ASK], "completion": [SAY]},
        {"question": "Q", "answer": "A"},
        {"instruction": "Q", "input": "", "output": "A"},
        {"instruction": "Q", "input": None, "output": "A", "text": "### Q ### A"},
        {"instruction": "Q", "output": "A"},
        {"conversations": [{"from": "human", "value": "Q"}, {"from": "gpt", "value": "A"}]},
        {"conversations": [ASK, SAY]},
        {"messages": None, "prompt": "Q", "completion": "A"},
    ],
)
def test_shapes_of_one_exchange(row):
    example = made(row)
    assert (example.messages, example.id, example.answer) == ([ASK, SAY], "f:3", None)


def test_an_input_follows_its_instruction():
    assert made({"instruction": "Q", "input": "x", "output": "A"}).messages[0]["content"] == "Q\n\nx"


def test_a_text_is_one_message_that_is_learned_whole():
    assert made({"text": "Once.\n"}).messages == [{"role": "text", "content": "Once.\n"}]


@pytest.mark.parametrize("shape", ["prompt", "conversations"])
def test_a_system_text_stands_first(shape):
    rows = {
        "prompt": {"prompt": "Q", "completion": "A"},
        "conversations": {
            "conversations": [{"from": "user", "value": "Q"}, {"from": "assistant", "value": "A"}]
        },
    }
    assert made(rows[shape] | {"system": "S"}).messages == [{"role": "system", "content": "S"}, ASK, SAY]


def test_sharegpt_calls_become_tool_calls():
    turns = [
        {"from": "human", "value": "Q"},
        {"from": "function_call", "value": '{"name": "now", "arguments": {"city": null}}'},
        {"from": "observation", "value": "14:05"},
        {"from": "gpt", "value": "A"},
    ]
    messages = made({"conversations": turns, "tools": '[{"name": "now"}]'}).messages
    call = {"type": "function", "function": {"name": "now", "arguments": {"city": None}}}
    assert messages[1] == {"role": "assistant", "content": "", "tool_calls": [call]}
    assert messages[2] == {"role": "tool", "content": "14:05"}


@pytest.mark.parametrize(
    ("prompt", "completion"),
    [("Answer:", " 42"), ("Answer: ", "42"), ("Ans", "wer"), ("hi  ", "\tok\n"), ("a", "\n\nok")],
)
def test_prompt_and_completion_stay_character_for_character(prompt, completion):
    contents = [m["content"] for m in made({"prompt": prompt, "completion": completion}).messages]
    assert contents == [prompt, completion]


def test_a_worked_answer_gives_steps_and_a_value():
    text = "She has 2+3=<<2+3=5>>5 cats.\n\nSo 5,000 in all.\n#### 5,000"
    example = made({"question": "Q", "answer": text})
    assert example.messages[1]["content"] == text
    assert example.steps == ["She has 2+3=<<2+3=5>>5 cats.", "So 5,000 in all."]
    assert example.answer == "5000"
    assert made({"question": "Q", "answer": "#### 7"}).answer == "7"
    assert made({"question": "Q", "answer": "#### 7"}).steps is None


def test_named_columns():
    row = {"Question": "Q", "Best Answer": "A", "answer": "other", "question": "other", "id": 9}
    example = made(row, {"question": "Question", "answer": "Best Answer"})
    assert (example.messages, example.id) == ([ASK, SAY], "9")
    assert made(
        {"question": "Q", "answer": "A"}, {"prompt": "question", "completion": "answer"}
    ).messages == [ASK, SAY]


def test_columns_that_are_not_there():
    with pytest.raises(InputError, match=r"f\.jsonl:3: no column 'ask'.*'question'"):
        made({"question": "Q"}, {"prompt": "ask"})
    with pytest.raises(InputError, match="'prmpt' is not read"):
        read_source("f.jsonl", {"prmpt": "a"})


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (["a"], "must be an object"),
        ({}, "nothing"),
        ({"foo": 1}, "'foo'"),
        ({"prompt": "Q"}, "'prompt'"),
        ({"prompt": "Q", "completion": None}, "'completion' is empty"),
        ({"prompt": "Q", "completion": ""}, "empty"),
        ({"prompt": "", "completion": "A"}, "empty"),
        ({"prompt": 3, "completion": "A"}, "`prompt` must be a text"),
        ({"prompt": "Q", "completion": ["A"]}, "must be a text"),
        ({"question": "Q", "answer": 4}, "`answer` must be a text"),
        ({"instruction": "Q", "input": 4, "output": "A"}, "`input` must be a text"),
        ({"text": 3}, "`text` must be a text"),
        ({"text": " "}, "empty"),
        ({"conversations": "x"}, "must be a list"),
        ({"conversations": ["x"]}, "`from` and `value`"),
        ({"conversations": [{"from": "alien", "value": "x"}]}, "'alien'"),
        ({"conversations": [{"from": "human"}]}, "no content"),
        ({"conversations": [{"from": "function_call", "value": "{"}]}, "no JSON"),
        ({"messages": "[]", "prompt": "Q", "completion": "A"}, "not as text"),
    ],
)
def test_rows_that_cannot_be_meant(row, says):
    with pytest.raises(InputError, match=r"f\.jsonl:3") as error:
        made(row)
    assert says in str(error.value)


def csv_file(tmp_path, text, name="f.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return str(path)


def test_csv_records_with_marks_and_line_ends_inside(tmp_path):
    text = '\ufeffid,prompt,completion\r\n1,"a, ""b""\u2028c","x\r\ny"\r\n\r\n2,"multi\nline",ok\r\n'
    examples = read_source(csv_file(tmp_path, text))
    assert [m["content"] for e in examples for m in e.messages] == [
        'a, "b"\u2028c',
        "x\r\ny",
        "multi\nline",
        "ok",
    ]
    assert [e.origin.rsplit(":", 1)[1] for e in examples] == ["2", "5"]


def test_tab_separated_values_and_lists_in_csv(tmp_path):
    tab = csv_file(tmp_path, "question\tanswer\nQ\tA\n", "f.tsv")
    assert read_source(tab)[0].messages == [ASK, SAY]
    listed = json.dumps([ASK, SAY]).replace('"', '""')
    assert read_source(csv_file(tmp_path, f'messages\n"{listed}"\n'))[0].messages == [ASK, SAY]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("prompt,completion\na,b\na\n", r"f\.csv:3: 1 values for the 2 names"),
        ("prompt,completion\na,b,c\n", r"f\.csv:2: 3 values"),
        ("prompt,prompt\na,b\n", r"f\.csv:1.*twice"),
        ('prompt,completion\na,"b\n', r"f\.csv:2 is no CSV"),
        ('prompt,completion\na,"b"c\n', r"f\.csv:2 is no CSV"),
        ("prompt,completion\na,\n", r"f\.csv:2: 'completion' is empty"),
        ("messages\n{broken\n", r"f\.csv:2: `messages` is no JSON"),
        ("prompt,completion\n", "no rows"),
        ("", "no rows"),
    ],
)
def test_csv_files_that_cannot_be_meant(tmp_path, text, says):
    with pytest.raises(InputError, match=says):
        read_source(csv_file(tmp_path, text))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="not UTF-8"):
        read_source(csv_file(tmp_path, "prompt,completion\nä,b\n", encoding="latin-1"))
    with pytest.raises(InputError, match="cannot be read"):
        read_source(str(tmp_path / "none.csv"))
    with pytest.raises(InputError, match=r"write builtin, a \.jsonl"):
        read_source("rows.parquet")
    with pytest.raises(InputError, match="no rows"):
        read_source(csv_file(tmp_path, "\n\n", "f.jsonl"))


def test_ids_are_made_distinct(write_rows):
    path = write_rows([{"id": "a", "prompt": f"{i}", "completion": "x"} for i in range(3)] + [{"text": "t"}])
    assert [e.id for e in read_source(str(path))] == ["a", "a~2", "a~3", "rows:4"]


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ("hf:a/b", ("a/b", None, "train")),
        ("hf:a/b:test", ("a/b", None, "test")),
        ("hf:a/b:main:test", ("a/b", "main", "test")),
        ("hf:a/b:train[:5%]", ("a/b", None, "train[:5%]")),
        ("hf:", None),
    ],
)
def test_names_of_hub_data_sets(spec, parts):
    if parts is None:
        with pytest.raises(InputError, match="write hf:NAME"):
            parse_hub_spec(spec)
    else:
        assert parse_hub_spec(spec) == parts


def test_hub_rows_come_through_datasets(monkeypatch):
    asked = []

    def load_dataset(name, config, split):
        asked.append((name, config, split))
        return [{"question": "Q", "answer": "A", "tool_calls": None}]

    monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace(load_dataset=load_dataset))
    (example,) = read_source("hf:a/b:main:test")
    assert (example.messages, example.id) == ([ASK, SAY], "hf:a/b:main:test:0")
    assert asked == [("a/b", "main", "test")]


def test_hub_data_sets_that_cannot_be_had(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match=r"pip install octavo\[hub\]"):
        read_source("hf:a/b")

    def offline(*_args, **_more):
        raise ConnectionError("no route")

    monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace(load_dataset=offline))
    with pytest.raises(InputError, match=r"ConnectionError: no route.*network"):
        read_source("hf:a/b")
