"""Runs that answer: who is meant by a path, what is said, how it is shown."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import torch
from peft import PeftModel
from rich.console import Console
from typer.testing import CliRunner, Result

from octavo.cli import app
from octavo.corpus.encode import Encoder
from octavo.errors import InputError
from octavo.models.load import load_model, load_tokenizer
from octavo.models.quiet import quiet
from octavo.models.resolve import BaseSource
from octavo.speaking.chat import Chat
from octavo.speaking.named import find_named
from octavo.speaking.sampling import sampler
from octavo.speaking.screen import OneAfterTheOther, RunningText, SideBySide, screen_for
from octavo.speaking.speakers import Speakers
from octavo.speaking.text_stream import TextStream
from octavo.study import Study

ASKED = [{"role": "user", "content": "What is the capital of France?"}]


def command(*arguments: str, said: str | None = None) -> Result:
    return CliRunner().invoke(app, arguments, input=said, prog_name="octavo")


def by_transformers(base: BaseSource, adapter: Path | None, tokens: int) -> str:
    """What `transformers` generates greedily with the adapter that `peft` loads."""
    tokenizer = load_tokenizer(base)
    encoder = Encoder(tokenizer)
    with quiet():
        model = load_model(base, torch.float32)
        model = PeftModel.from_pretrained(model, str(adapter)) if adapter else model
        ids = torch.tensor([encoder.prompt(ASKED)])
        made = model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            max_new_tokens=tokens,
            eos_token_id=sorted(encoder.stop_ids),
            pad_token_id=encoder.pad_id,
        )[0, ids.shape[1] :].tolist()
    return encoder.decode([i for i in made if i not in encoder.stop_ids])


def test_each_speaker_says_what_transformers_and_peft_say(tiny: BaseSource, adapters: list[Path]) -> None:
    speakers = Speakers(find_named([str(path) for path in adapters]), with_base=True)
    assert len(speakers.names) == 3
    pieces: dict[str, str] = dict.fromkeys(speakers.names, "")

    def hear(name: str, text: str) -> None:
        pieces[name] += text

    answers = speakers.answer(dict.fromkeys(speakers.names, ASKED), 12, None, hear)
    expected = [by_transformers(tiny, path, 12) for path in [*adapters, None]]
    assert [answers[name].text for name in speakers.names] == expected
    assert len(set(expected)) == 3
    assert pieces == {name: answer.text for name, answer in answers.items()}


def test_speakers_of_one_base_do_not_depend_on_who_else_was_asked(adapters: list[Path]) -> None:
    choose = sampler(1.5, 0.9, seed=3)
    alone = Speakers(find_named([str(adapters[0])]))
    together = Speakers(find_named([str(path) for path in adapters]))
    name = alone.names[0]
    first = alone.answer({name: ASKED}, 10, choose)[name]
    again = together.answer(dict.fromkeys(together.names, ASKED), 10, sampler(1.5, 0.9, seed=3))
    assert again[name] == first
    other = alone.answer({name: ASKED}, 10, sampler(1.5, 0.9, seed=4))[name]
    assert other.text != first.text


def test_draws_follow_the_published_nucleus() -> None:
    logits = torch.tensor([[0.0, 1.0, 2.0, 3.0]]).log_softmax(-1)
    choose = sampler(1.0, 0.8)
    assert choose is not None
    drawn = torch.cat([choose(logits, [0]) for _ in range(4000)])
    # the likeliest two are 0.644 and 0.237: together 0.88, the first set that is not below 0.8
    share = (drawn == 3).float().mean().item()
    assert set(drawn.tolist()) == {2, 3}
    assert share == pytest.approx(0.644 / 0.881, abs=0.03)


def test_temperature_zero_takes_the_most_likely() -> None:
    assert sampler(0) is None


@pytest.mark.parametrize(("temperature", "top_p"), [(-1, 1), (float("nan"), 1), (1, 0), (1, 1.5)])
def test_settings_that_mean_nothing_are_refused(temperature: float, top_p: float) -> None:
    with pytest.raises(InputError, match="--t"):
        sampler(temperature, top_p)


def test_a_character_of_several_tokens_is_held_back(tiny: BaseSource) -> None:
    tokenizer = load_tokenizer(tiny)
    ids = tokenizer.encode("né 世", add_special_tokens=False)
    stream = TextStream(tokenizer.decode)
    pieces = [stream.add(i) for i in ids]
    assert "".join(pieces) == "né 世" == stream.text
    assert "\ufffd" not in "".join(pieces)
    assert "" in pieces
    cut = TextStream(tokenizer.decode)
    assert cut.add(ids[-1]) == ""
    assert cut.end() == "\ufffd"


def test_paths_mean_runs_adapters_and_models(
    tiny: BaseSource, adapters: list[Path], trained: Path, tmp_path: Path
) -> None:
    run = Study.load(trained).expand()[0].id
    (whole,) = find_named([str(trained)])
    assert whole.name == run
    assert whole.base.model == str(tiny.folder)
    for path in (trained / run, trained / "runs" / run, trained / "runs" / run / "adapter"):
        assert find_named([str(path)]) == [whole]
    assert find_named([str(trained), str(trained / run)]) == [whole]
    (model,) = find_named([str(tiny.folder)])
    assert model.adapter is None
    (adapter,) = find_named([str(adapters[0])], base="other")
    assert (adapter.base.model, adapter.adapter) == ("other", adapters[0])


def test_what_is_not_there_is_said(tiny: BaseSource, trained: Path, tmp_path: Path) -> None:
    runs = [run.id for run in Study.load(trained).expand()]
    (tmp_path / "empty").mkdir()
    for path, said in [
        (tmp_path / "empty", "holds no adapter"),
        (trained / "nobody", f"has no run 'nobody'; its runs are {', '.join(runs)}"),
        (trained / runs[1], "has exported nothing"),
        (tmp_path / "nowhere", "there is no"),
    ]:
        result = command("generate", str(path), "--prompt", "Hello")
        assert result.exit_code == 2, result.output
        assert said in result.stderr.replace("\n", " ")
        assert "Traceback" not in result.stderr


def test_an_adapter_that_names_no_base_asks_for_one(tiny: BaseSource, tmp_path: Path) -> None:
    from tests.speaking.conftest import write_adapter

    folder = write_adapter(tiny, tmp_path / "nameless", 1, names_base=False)
    result = command("generate", str(folder), "--prompt", "Hello")
    assert (result.exit_code, "give it with --base" in result.stderr) == (2, True)
    result = command(
        "generate", str(folder), "--prompt", "Hello", "--base", str(tiny.folder), "--max-tokens", "4"
    )
    assert result.exit_code == 0, result.stderr


def test_generate_prints_answers_on_stdout_and_json_lines(adapters: list[Path]) -> None:
    both = [str(path) for path in adapters]
    plain = command("generate", *both, "--prompt", "Hello", "--max-tokens", "6")
    lines = command("generate", *both, "--prompt", "Hello", "--max-tokens", "6", "--json")
    found = [json.loads(line) for line in lines.stdout.splitlines()]
    assert [row["who"] for row in found] == both
    assert all(row["prompt"] == "Hello" and row["finite"] and row["tokens"] <= 6 for row in found)
    for row in found:
        assert f"== {row['who']}\n{row['text']}\n" in plain.stdout
    one = command("generate", both[0], "--prompt", "-", "--max-tokens", "6", said="Hello")
    assert one.stdout == f"{found[0]['text']}\n"


def test_an_adapter_that_is_not_finite_is_refused(tiny: BaseSource, tmp_path: Path) -> None:
    from tests.speaking.conftest import write_adapter

    folder = write_adapter(tiny, tmp_path / "broken", 1, size=float("nan"))
    result = command("generate", str(folder), "--prompt", "Hello")
    assert result.exit_code == 2
    assert "not finite" in result.stderr


def test_chat_keeps_what_was_said_and_forgets_it_when_told(adapters: list[Path]) -> None:
    speakers = Speakers(find_named([str(path) for path in adapters]))
    notes: list[str] = []
    chat = Chat(speakers, 5, None, "Be brief.", Console(file=io.StringIO()), notes.append)
    chat.talk(["Hello", "", "/help", "And you?"])
    for turns in chat.turns.values():
        assert [turn["role"] for turn in turns][:4] == ["system", "user", "assistant", "user"]
    assert any("/new" in note for note in notes)
    again = Chat(speakers, 5, None, "Be brief.", Console(file=io.StringIO()), notes.append)
    again.talk(["Hello", "And you?"])
    assert again.turns == chat.turns
    chat.talk(["/new", "/quit", "never read"])
    assert all(len(turns) == 1 for turns in chat.turns.values())


def test_a_conversation_longer_than_the_base_reads_is_said_and_not_kept(adapters: list[Path]) -> None:
    speakers = Speakers(find_named([str(adapters[0])]))
    notes: list[str] = []
    chat = Chat(speakers, 5, None, None, Console(file=io.StringIO()), notes.append)
    chat.ask("apples " * 4000)
    assert "more than the" in notes[0]
    assert list(chat.turns.values()) == [[]]


def test_chat_by_the_command_line(adapters: list[Path]) -> None:
    result = command("chat", str(adapters[0]), "--max-tokens", "4", said="Hello\n/quit\n")
    single = command("generate", str(adapters[0]), "--prompt", "Hello", "--max-tokens", "4")
    assert (result.exit_code, result.stdout) == (0, single.stdout)


def test_the_screen_fits_where_output_goes() -> None:
    terminal = Console(file=io.StringIO(), force_terminal=True, width=100)
    pipe = Console(file=io.StringIO(), force_terminal=False)
    assert isinstance(screen_for(["a"], terminal), RunningText)
    assert isinstance(screen_for(["a", "b"], pipe), OneAfterTheOther)
    screen = screen_for(["a", "b"], terminal)
    assert isinstance(screen, SideBySide)
    with screen as heard:
        heard("a", "[red]one")
        heard("b", "two")
    shown = terminal.file.getvalue()  # type: ignore[attr-defined]
    assert "[red]one" in shown
    assert "two" in shown
