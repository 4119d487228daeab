"""The study file: what a person writes, what it means, and what they are told."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.errors import InputError
from octavo.study import Study
from octavo.study_files import ready_studies
from octavo.unbuilt import UNBUILT
from octavo.yaml_text import Document, dump_yaml, read_yaml

SMALL = "variants: [{name: control, recipe: control}]\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "study.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def load(folder: Path, text: str, *overrides: str) -> Study:
    return Study.load(write(folder, text), overrides)


def complaint(folder: Path, text: str, *overrides: str) -> str:
    with pytest.raises(InputError) as caught:
        load(folder, text, *overrides)
    return str(caught.value)


# --- scalars -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-5", 1e-5),
        ("1E5", 1e5),
        (".1", 0.1),
        ("5.", 5.0),
        ("-0.5", -0.5),
        ("+3", 3),
        ("0777", 777),
        ("01", 1),
        ("0o17", 15),
        ("0x1F", 31),
        ("-.inf", -math.inf),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("null", None),
        *(
            (text, text)
            for text in ("no", "on", "yes", "OFF", "n", "2026-11-30", "1_000", "12:30:45", "1e", ".", "0b1")
        ),
        ('"1e-5"', "1e-5"),
        ("'null'", "null"),
        ("!!str 1e3", "1e3"),
    ],
)
def test_plain_scalars_follow_the_core_schema(text: str, value: object) -> None:
    read = read_yaml(f"key: {text}", "t").value["key"]
    assert read == value
    assert type(read) is type(value)


def test_nan_is_read_as_a_number() -> None:
    assert math.isnan(read_yaml(".nan", "t").value)


def test_keys_are_the_text_as_written() -> None:
    text = "{no: 1, on: 2, 1e3: 3, 2026-11-30: 4, 0777: 5, null: 6, ~: 7, true: 8}"
    assert list(read_yaml(text, "t").value) == ["no", "on", "1e3", "2026-11-30", "0777", "null", "~", "true"]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a: 1\nb: 2\na: 3\n", "t, line 3: the key 'a' is written twice (the first is in line 1)"),
        ("a: {b: 1,\n b: 2}", "t, line 2: the key 'b' is written twice"),
        ("a: [1, 2\nb: 3", "t, line 2: not valid YAML"),
        (
            "a: !!python/object/apply:os.system [ls]",
            "os.system cannot be read; write the value without a tag",
        ),
        ("a: !thing {b: 1}", "!thing cannot be read"),
        ("a: &x [*x]", "an alias that contains itself"),
        ("? [a, b]\n: 1", "a key that is a list or a mapping"),
        ("a: &b {c: 1}\nd: {<<: *b}", "t, line 2: merge keys"),
        ("a: 1\n---\nb: 2", "t, line 2: not valid YAML"),
        ("a: !!int x", "t, line 1: tag:yaml.org,2002:int cannot be read"),
    ],
)
def test_broken_yaml_names_the_line(text: str, part: str) -> None:
    with pytest.raises(InputError) as caught:
        read_yaml(text, "t")
    assert part in str(caught.value)


def test_aliases_cannot_explode() -> None:
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 9)]
    with pytest.raises(InputError, match="once aliases are written out"):
        read_yaml("\n".join(["l0: &l0 [x]", *levels]), "t")


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8) | st.sampled_from(
    [
        "no",
        "1e3",
        "1_000",
        "0777",
        "2026-11-30",
        "null",
        "~",
        "1.0",
        ".nan",
        "0o7",
        "=",
        "<<",
        "yes",
        "- a",
        "a: b",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS.filter(lambda t: t != "<<"), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(VALUES)
def test_written_yaml_reads_back_here_and_elsewhere(value: object) -> None:
    text = dump_yaml(value)
    assert read_yaml(text, "t").value == value
    assert yaml.safe_load(text) == value  # a YAML 1.1 reader


# --- the study -----------------------------------------------------------------------------------------------


def test_defaults(tmp_path: Path) -> None:
    study = load(tmp_path, SMALL)
    assert study.bases[0].model == "smollm2-135m-instruct"
    assert (study.train.learning_rate, study.train.epochs, study.train.lora.rank) == (1e-4, 3, 8)
    assert study.corpus.kinds == {"reasoning": 0.6, "conversation": 0.4}
    assert [suite.name for suite in study.evaluate.suites] == ["heldout"]
    assert (study.basins, study.stopping) == (None, None)
    assert study.evaluate.comparisons == []  # a control alone
    assert study.vitals is not None
    assert (study.vitals.every, study.vitals.spectrum_every, study.vitals.on_trip) == (5, 50, "stop")
    assert study.vitals.thresholds == "calibrated"
    asked = {key for key, value in study.criteria.model_dump().items() if value is not None}
    assert asked == {"nonfinite_parameters"}


def test_numbers_where_numbers_are_wanted(tmp_path: Path) -> None:
    text = (
        SMALL
        + 'train: {learning_rate: 1e-5, epochs: "3", eps: "1e-08", batch_size: 1e1, lora: {dropout: .1}}'
    )
    train = load(tmp_path, text).train
    assert (train.learning_rate, train.epochs, train.eps, train.batch_size, train.lora.dropout) == (
        1e-5, 3, 1e-8, 10, 0.1,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("setting", "parts"),
    [
        ("train: {learning_rate: .nan}", ["line 2: train.learning_rate: .nan is not finite"]),
        ("train: {learning_rate: .inf}", [".inf is not finite"]),
        ("train: {learning_rate: 1e999}", ["1e999 is not finite"]),
        ("train: {learning_rate: -1e-4}", ["train.learning_rate: -1e-4 is not above 0; write a number above 0"]),
        ("train: {learning_rate: 0}", ["0 is not above 0"]),
        (f"train: {{epochs: {'9' * 5000}}}", ["is not a whole number"]),
        ("train: {learning_rate: 1e-999}", ["1e-999 is not above 0"]),
        ("train: {learning_rate: fast}", ["fast is no number; write one like 3 or 1e-5"]),
        ("train: {learning_rate: true}", ["true is no number"]),
        ("train: {learning_rate: null}", ["null is no number"]),
        ("train: {schedule: {warmup_steps: 1_000}}", ["1_000 is text; write the number without underscores"]),
        ("train: {batch_size: 2.5}", ["2.5 is not a whole number"]),
        ("train: {lora: {dropout: 1}}", ["train.lora.dropout: 1 is not below 1"]),
        ("train: {lora: {rank: 0}}", ["train.lora.rank: 0 is below 1"]),
        ("train: {lora: {targets: q_proj}}", ["q_proj is none of attention, all-linear, or a list"]),
        ("train: {betas: [0.9]}", ["train.betas", "at least 2"]),
        ("train: {betas: [0.9, 1]}", ["train.betas[1]: 1 is not below 1"]),
        ("train: {learning_rat: 1}", ["line 2: train.learning_rat: unknown key; did you mean train.learning_rate?"]),
        ("train: {dropout: 0.1}", ["did you mean train.lora.dropout?"]),
        ("train: {warmup: 10}", ["did you mean train.schedule.warmup_steps?"]),
        ("learning_rate: 1", ["did you mean train.learning_rate?"]),
        ("trian: {}", ["trian: unknown key; did you mean train?"]),
        ("zzz: 1", ["zzz: unknown key; take it out"]),
        ("train: [1]", ["train: [1] is not a mapping"]),
        ("train: {overlong: dorp}", ["dorp is not one of drop, cut; did you mean drop?"]),
        ("train: {steps: 5, epochs: 2}", ["has both of epochs and steps"]),
        ("train: {epochs: null}", ["has neither of epochs and steps"]),
        ("bases: [{trust_remote_code: yes}]", ["yes is neither true nor false"]),
        ("bases: []", ["bases: [] is too short; it needs at least 1"]),
        ("bases: [{name: a}, {name: A}]", ["bases[1].name: A is the name of bases[0] too"]),
        ("corpus: {kinds: {reasoning: 0}}", ["gives every kind the weight 0"]),
        ("corpus: {kinds: {resoning: 1}}", ["did you mean reasoning?"]),
        ("corpus: {seed: 9223372036854775808}", ["is above 9223372036854775807"]),
        ("seeds: []", ["seeds: [] is empty"]),
        ("seeds: [1, -1]", ["holds -1; seeds go from 0"]),
        ("seeds: [1, one]", ["holds 'one', which is no number"]),
        ("seeds: 0", ["seeds: 0 is no number of seeds from 1"]),
        ("lanes: {memory: 12}", ['none of auto, a size like "12GiB", or a share']),
        ("lanes: {strategy: 0}", ["or a number of lanes from 1"]),
        ("name: 7", ["name: 7 is read as a number; quote it"]),
        ("schema: 2", ["schema: 2 is not one of 1"]),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_line_key_value_and_cure(
    tmp_path: Path, setting: str, parts: list[str]
) -> None:
    message = complaint(tmp_path, SMALL + setting)
    assert str(tmp_path / "study.yaml") in message
    assert "line 2" in message
    for part in parts:
        assert part in message


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    message = complaint(tmp_path, SMALL + "train:\n  eps: -1\n  betas: 3\nseeds: x\n")
    assert [line.split("line ")[1].split(":")[0] for line in message.splitlines()] == ["3", "4", "5"]


@pytest.mark.parametrize(
    ("variants", "part"),
    [
        ("[{name: 1e3, recipe: control}]", "variants[0].name: 1e3 is read as a number; quote it"),
        ("[{name: 0777, recipe: control}]", "0777 is read as a number; quote it"),
        ("[{name: null, recipe: control}]", "null is read as null; quote it"),
        ("[{name: true, recipe: control}]", "true is read as a truth value; quote it"),
        ("[{name: a/b, recipe: control}]", "a/b cannot be a file name"),
        ("[{name: .hidden, recipe: control}]", "cannot be a file name"),
        ("[{name: 'ö', recipe: control}]", "cannot be a file name"),
        (f"[{{name: {'x' * 101}, recipe: control}}]", "at most 100"),
        ("[{recipe: control}]", "variants[0].name: is missing"),
        ("[{name: a}]", "has neither of recipe and data"),
        ("[{name: a, recipe: b, data: c.jsonl}]", "has both of recipe and data"),
        ("[{name: a, recipe: b}, {name: a, recipe: c}]", "variants[1].name: a is the name of variants[0] too"),
        ("[{name: a, recipe: b}, {name: A, recipe: c}]", "A is the name of variants[0] too"),
        ("[{name: a, recipe: b, base: none}]", "variants[0].base: none is no base; there are smollm2"),
        ("[{name: a, recipe: b, options: {density: .nan}}]", "holds a number that is not finite"),
        ("[{name: a, recipe: [b, 3]}]", "holds 3, which is read as a number"),
        ("[{name: a, recipe: b, train: {lora.rnk: 4}}]", "train.lora.rnk: unknown key; did you mean train.lora.rank?"),
        ("[{name: a, recipe: b, train: {lora: {rank: 4}, lora.rank: 8}}]", "sets lora.rank twice"),
        ("[{name: a, recipe: b, train: {eps: 0}}]", "variants[0].train.eps: 0 is not above 0"),
        ("{no: {}}", "variants: {'no': {}} is not a list"),
        ("[]", "needs at least 1"),
    ],
)  # fmt: skip
def test_variants_are_checked(tmp_path: Path, variants: str, part: str) -> None:
    message = complaint(tmp_path, f"name: t\nvariants: {variants}")
    assert part in message
    assert "line 2" in message


@pytest.mark.parametrize("name", ["no", "on", "off", "2026-11-30", "1_000", "12:30"])
def test_words_that_old_readers_change_stay_names(tmp_path: Path, name: str) -> None:
    if ":" in name:
        assert "12:30 cannot be a file name" in complaint(
            tmp_path, f"variants: [{{name: {name}, recipe: control}}]"
        )
    else:
        study = load(tmp_path, f"variants: [{{name: {name}, recipe: control}}]")
        assert study.variants[0].name == name


@pytest.mark.parametrize(
    ("setting", "key"),
    [
        ("stopping: {kind: halving}", "stopping.kind"),
        ("basins: {pairs: star}", "basins.pairs"),
        ("evaluate: {suites: [heldout, importance]}", "evaluate.suites[1]"),
        ("report: {loggers: [wandb]}", "report.loggers[0]"),
    ],
)
def test_what_is_not_built_is_refused_never_ignored(tmp_path: Path, setting: str, key: str) -> None:
    message = complaint(tmp_path, SMALL + setting)
    assert "line 2" in message
    assert f"{key}: " in message
    assert "is not available yet" in message


def test_vitals_may_be_off(tmp_path: Path) -> None:
    assert load(tmp_path, SMALL + "vitals: null").vitals is None


@pytest.mark.parametrize(
    ("base", "problem"),
    [
        (
            "{attention: full}",
            "every token would see what it is to predict; take objective: masked_diffusion",
        ),
        (
            "{attention: block}",
            "every token would see what it is to predict; take objective: masked_diffusion",
        ),
        ("{prediction: same}", "would learn to copy each token; take objective: masked_diffusion"),
        ("{mask_token: <m>}", "which hides nothing; take it out"),
        ("{objective: masked_diffusion, attention: block, block_size: null}", "give one, such as 32"),
        ("{objective: masked_diffusion, attention: sideways}", "sideways"),
    ],
)
def test_keys_of_a_base_that_make_no_sense_together(tmp_path: Path, base: str, problem: str) -> None:
    message = complaint(tmp_path, f"{SMALL}bases: [{base}]")
    assert "line 2" in message
    assert "bases[0]" in message
    assert problem in message


@pytest.mark.parametrize(
    "keys",
    [
        "attention: full",
        "attention: full, prediction: same, mask_token: <m>",
        "attention: block, block_size: 8",
        "attention: causal",
    ],
)
def test_masked_diffusion_takes_every_attention_and_prediction(tmp_path: Path, keys: str) -> None:
    study = load(
        tmp_path, f"{SMALL}bases: [{{objective: masked_diffusion, {keys}}}]\ntrain: {{mask_symbols: true}}"
    )
    assert study.bases[0].objective == "masked_diffusion"
    assert study.expand()[0].train.mask_symbols


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("train: {mask_symbols: true}", "train.mask_symbols: true"),
        (
            "variants: [{name: a, recipe: control}, {name: b, recipe: control, train: {mask_symbols: true}}]",
            "variants[1].train.mask_symbols: true",
        ),
        ("sweep: {train.mask_symbols: [false, true]}", "sweep.train.mask_symbols"),
    ],
)
def test_symbols_cannot_be_hidden_where_nothing_is(tmp_path: Path, text: str, key: str) -> None:
    message = complaint(tmp_path, text if text.startswith("variants") else SMALL + text)
    assert key in message
    assert "hides the tokens of a symbol together, but base smollm2 learns objective: causal" in message


def test_unbuilt_keys_are_keys_of_the_study() -> None:
    from octavo.settings import dotted_keys

    assert {key.replace("[]", "") for key in UNBUILT} <= set(dotted_keys(Study))


def test_unset_unbuilt_sections_may_be_null_or_empty(tmp_path: Path) -> None:
    study = load(tmp_path, SMALL + "basins: {}\nreport: {loggers: []}\nstopping: ~")
    assert study == load(tmp_path, SMALL)


@pytest.mark.parametrize("name", [*ready_studies()])
def test_freezing_writes_every_default_and_loads_equal(tmp_path: Path, name: str) -> None:
    study = Study.load(name)
    study.freeze(tmp_path / "frozen.yaml")
    again = Study.load(tmp_path / "frozen.yaml")
    assert again == study
    assert again.expand() == study.expand()
    written = read_yaml((tmp_path / "frozen.yaml").read_text(), "t").value
    assert written == study.resolved()
    assert written["train"]["schedule"]["floor"] == 0.0


def test_what_was_merged_is_not_told_again_by_the_frozen_study(tmp_path: Path) -> None:
    study = load(tmp_path, SMALL + "seeds: [1, 1]\nsweep: {train.learning_rate: [1e-5, 1.0e-5]}")
    assert len(study.notes) == 2
    study.freeze(tmp_path / "frozen.yaml")
    frozen = Study.load(tmp_path / "frozen.yaml")
    assert frozen == study
    assert frozen.notes == []


def test_paths_start_from_the_study_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub" / "model").mkdir(parents=True)
    (tmp_path / "sub" / "model" / "config.json").write_text("{}")
    text = (
        "bases: [{name: a, model: model}, {name: b, model: org/hub}, {name: c, model: ../x.gguf}]\n"
        "corpus: {source: [{source: data/c.jsonl}, {source: builtin}, {source: 'hf:name:split'}]}\n"
        "variants: [{name: a, data: mine.jsonl}, {name: b, recipe: [control, mine.py]}]\n"
    )
    (tmp_path / "else").mkdir()
    monkeypatch.chdir(tmp_path / "else")
    path = write(tmp_path / "sub", text)
    study = Study.load(path, ["variants.b.recipe=shell.py"])
    sub = tmp_path / "sub"
    assert [base.model for base in study.bases] == [str(sub / "model"), "org/hub", str(tmp_path / "x.gguf")]
    assert [part.source for part in study.corpus.source] == [
        str(sub / "data/c.jsonl"),
        "builtin",
        "hf:name:split",
    ]
    assert study.variants[0].data == str(sub / "mine.jsonl")
    assert study.variants[1].recipe == [str(tmp_path / "else" / "shell.py")]
    study.freeze(tmp_path / "out" / "study.yaml")
    assert Study.load(tmp_path / "out") == study
    assert study.directory == sub


@pytest.mark.parametrize(
    ("override", "read"),
    [
        ("train.learning_rate=1e-3", lambda s: s.train.learning_rate == 1e-3),
        ("train.steps=7", lambda s: (s.train.steps, s.train.epochs) == (7, None)),
        ("train.max_grad_norm=", lambda s: s.train.max_grad_norm is None),
        ("seeds=[3, 4]", lambda s: s.seeds == [3, 4]),
        ("seeds=2", lambda s: s.seeds == [0, 1]),
        ("name=no", lambda s: s.name == "no"),
        ("variants.control.train.lora.rank=3", lambda s: s.expand()[0].train.lora.rank == 3),
        ("variants.0.options={density: 0.5}", lambda s: s.variants[0].options == {"density": 0.5}),
        ("sweep.train.learning_rate=[1e-3, 1e-4]", lambda s: len(s.expand()) == 2),
        ("corpus.fields={prompt: q=a}", lambda s: s.corpus.fields == {"prompt": "q=a"}),
    ],
)
def test_settings_from_the_command_line(tmp_path: Path, override: str, read: object) -> None:
    assert read(load(tmp_path, SMALL, override))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("override", "part"),
    [
        ("train.learning_rate", "write it as key=value"),
        ("train.learning_rate=x", "--set train.learning_rate=x: train.learning_rate: x is no number"),
        ("train.learning_rat=1", "--set train.learning_rat=1: train.learning_rat: unknown key"),
        ("name.x=1", "name holds no keys"),
        ("variants.spore.recipe=x", "there is no item 'spore'; write one of control"),
        ("basins.points=3", "--set basins.points=3: basins.points: 3 is not available yet"),
        ("seeds=[1", "--set seeds=[1, line 1: not valid YAML"),
    ],
)
def test_wrong_settings_from_the_command_line(tmp_path: Path, override: str, part: str) -> None:
    assert part in complaint(tmp_path, "name: t\n" + SMALL, override)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes("name: ü".encode("latin-1"))
    with pytest.raises(InputError, match="byte 6 is not UTF-8"):
        Study.load(tmp_path / "latin.yaml")
    with pytest.raises(InputError, match="is a folder without a study"):
        Study.load(tmp_path)
    with pytest.raises(InputError, match="did you mean eight-variants"):
        Study.load("eight-variant")
    with pytest.raises(InputError, match="is empty"):
        load(tmp_path, "# nothing\n")
    with pytest.raises(InputError, match="holds no keys"):
        load(tmp_path, "[1]")


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    assert load(tmp_path, "\ufeffname: x\n" + SMALL).name == "x"


def test_from_python_without_a_file() -> None:
    study = Study.parse(Document({"variants": [{"name": "a", "recipe": "control"}]}, "mine"))
    assert study.basins is None
    with pytest.raises(InputError, match=r"mine: train.eps: -1 is not above 0"):
        Study.parse(Document({"train": {"eps": -1}, "variants": [{"name": "a", "recipe": "b"}]}, "mine"))


def test_a_base_is_named_after_its_model(tmp_path: Path) -> None:
    study = load(tmp_path, SMALL + "bases: [{model: org/Some Model.gguf}, {}]")
    assert [base.name for base in study.bases] == ["Some_Model", "smollm2"]


def test_steps_from_the_shell_replace_the_files_epochs_and_both_stay_an_error(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("variants: [{name: control, recipe: control}]\ntrain: {epochs: 2}\n")
    assert Study.load(path, ["train.steps=7"]).train.steps == 7
    assert Study.load(path, ["train.steps=7"]).train.epochs is None
    assert Study.load(path, ["train.epochs=4"]).train.epochs == 4
    with pytest.raises(InputError, match="both of epochs and steps"):
        Study.load(path, ["train.steps=7", "train.epochs=4"])
