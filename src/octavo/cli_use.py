"""Commands for finished runs: let them speak, take them elsewhere. As thin as those of `octavo.cli`."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from octavo.errors import InputError

if TYPE_CHECKING:
    from octavo.settings import SuiteChoice

WhoArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="WHO...",
        help="Adapter folders (ours or any PEFT), OUT/RUN for a run, OUT for all runs of a study, or a model.",
    ),
]
BaseOption = Annotated[
    str | None, typer.Option("--base", help="The adapters' base, if not the one that they name.")
]
WithBase = Annotated[bool, typer.Option("--with-base", help="The base answers too.")]
MostOption = Annotated[int, typer.Option("--max-tokens", min=1, help="New tokens of an answer.")]
Temperature = Annotated[float, typer.Option("--temperature", help="0: the most likely token each time.")]
TopP = Annotated[float, typer.Option("--top-p", help="Draw from the likeliest tokens of this share.")]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Of the draws.")]
SystemOption = Annotated[str | None, typer.Option("--system", help="A system message before all.")]


def chat(
    who: WhoArgument,
    base: BaseOption = None,
    with_base: WithBase = False,
    most: MostOption = 256,
    temperature: Temperature = 0.0,
    top_p: TopP = 1.0,
    seed: SeedOption = 0,
    system: SystemOption = None,
) -> None:
    """Talk to one run, or to several that answer side by side."""
    from rich.console import Console

    from octavo.speaking.chat import HELP, Chat
    from octavo.speaking.named import find_named
    from octavo.speaking.sampling import sampler
    from octavo.speaking.speakers import Speakers

    choose = sampler(temperature, top_p, seed)
    speakers = Speakers(find_named(who, base), with_base)
    typer.echo(f"{', '.join(speakers.names)}: {HELP}", err=True)
    talk = Chat(
        speakers, most, choose, system, Console(), lambda text: typer.echo(f"octavo: {text}", err=True)
    )
    talk.talk(_said())


def _said() -> Iterator[str]:
    """Lines of a person, or of a pipe."""
    if not sys.stdin.isatty():
        yield from sys.stdin
        return
    import contextlib

    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  line editing and history come with the import
    while True:
        try:
            yield input("> ")
        except (EOFError, KeyboardInterrupt):
            typer.echo("", err=True)
            return


def generate(
    who: WhoArgument,
    prompt: Annotated[
        list[str],
        typer.Option("--prompt", "-p", help="What to answer; again for more. `-` reads standard input."),
    ],
    base: BaseOption = None,
    with_base: WithBase = False,
    most: MostOption = 256,
    temperature: Temperature = 0.0,
    top_p: TopP = 1.0,
    seed: SeedOption = 0,
    system: SystemOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON line an answer.")] = False,
) -> None:
    """Answer prompts by one run, or by several side by side."""
    from rich.console import Console

    from octavo.speaking.named import find_named
    from octavo.speaking.sampling import sampler
    from octavo.speaking.screen import screen_for
    from octavo.speaking.speakers import Speakers

    texts = [sys.stdin.read() if text == "-" else text for text in prompt]
    if not all(text.strip() for text in texts):
        raise InputError("--prompt: is empty; say what is to be answered")
    choose = sampler(temperature, top_p, seed)
    speakers = Speakers(find_named(who, base), with_base)
    first = [] if system is None else [{"role": "system", "content": system}]
    good = True
    for text in texts:
        asked = {name: [*first, {"role": "user", "content": text}] for name in speakers.names}
        if as_json:
            answers = speakers.answer(asked, most, choose)
        else:
            with screen_for(speakers.names, Console()) as heard:
                answers = speakers.answer(asked, most, choose, heard)
        for name, answer in answers.items():
            if as_json:
                line = {"prompt": text, "who": name, **dataclasses.asdict(answer)}
                typer.echo(json.dumps(line, ensure_ascii=False))
            if not answer.finite:
                typer.echo(f"octavo: {name}: its logits are not finite; the answer is cut there", err=True)
            good = good and answer.finite
    if not good:
        raise typer.Exit(1)


def export(
    who: Annotated[str, typer.Argument(metavar="WHO", help="An adapter folder, or OUT/RUN for a run.")],
    to: Annotated[
        Path | None,
        typer.Argument(
            metavar="[TO]", help="The folder or the .gguf file to write; else named after WHO, here."
        ),
    ] = None,
    merge: Annotated[bool, typer.Option("--merge", help="A folder that plain transformers loads.")] = False,
    gguf: Annotated[bool, typer.Option("--gguf", help="A file for llama.cpp and Ollama.")] = False,
    base: BaseOption = None,
    dtype: Annotated[
        Literal["float32", "bfloat16", "float16"], typer.Option("--dtype", help="Of the written weights.")
    ] = "bfloat16",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Merge a run into its base and write it for other programs; what was written is read back and compared."""
    from octavo.exporting.export import export_run
    from octavo.speaking.named import find_named

    if merge == gguf:
        raise InputError(
            "export: say one of --merge (a folder for transformers) and --gguf (for llama.cpp, Ollama)"
        )
    named = find_named([who], base)
    if len(named) != 1:
        raise InputError(f"{who}: has {len(named)} runs; name one: {who}/{named[0].name}")
    own = Path(f"{Path(named[0].name).name}{'.gguf' if gguf else '-merged'}")
    done = export_run(named[0], to or own, "gguf" if gguf else "folder", dtype)
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(done)))
    else:
        typer.echo(done.path)
        typer.echo(f"octavo: {done.in_words()}", err=True)


def evaluate_adapters(
    who: list[str], base: str | None, suites: list[str], limit: int | None, as_json: bool
) -> None:
    """Suites on adapters of any tool, and paired claims about them."""
    from rich.console import Console

    from octavo.evaluation.chosen import choose
    from octavo.evaluation.strangers import compare_adapters, pair_table, score_table
    from octavo.speaking.named import find_named

    chosen = choose([_suite_choice(text, limit) for text in suites])
    tell = None if as_json else lambda text: typer.echo(text, err=True)
    found = compare_adapters(find_named(who, base), chosen, *([tell] if tell else []))
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False, allow_nan=False))
        return
    Console().print(score_table(found))
    Console().print(pair_table(found))
    typer.echo(
        "Single checkpoints: the claims are about these weights, not about the recipes that made them; another seed "
        "may move a run as far. No comparison was declared beforehand; p is corrected by Benjamini and Hochberg."
    )


def _suite_choice(text: str, limit: int | None) -> SuiteChoice:
    from pydantic import ValidationError

    from octavo.settings import SuiteChoice

    name, _, file = text.partition("=")
    try:
        return SuiteChoice.model_validate({"name": name, "file": file or None, "limit": limit})
    except ValidationError as error:
        raise InputError(f"--suite {text}: write NAME=FILE, e.g. items=mine.jsonl") from error
