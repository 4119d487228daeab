"""The command line: one thin function a command; messages on stderr, figures on stdout.

Heavy imports stand inside the functions, so that `octavo --help` answers at once.
"""

from __future__ import annotations

import dataclasses
import errno
import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from octavo import __version__, cli_use
from octavo.errors import InputError, OctavoError

EXIT_NOT_MET = 1
EXIT_INPUT = 2
EXIT_MACHINE = 3
EXIT_INTERRUPTED = 130

_DISK_ERRORS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EIO: "the disk failed",
}
_CPU_IS_FULL = "DefaultCPUAllocator: can't allocate memory"  # a RuntimeError like any other


class _Commands(TyperGroup):
    """Turns the errors that a person can act on into one message and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (OctavoError, OSError, MemoryError, RuntimeError, KeyboardInterrupt) as error:
            outcome = _outcome(error)
            if outcome is None:
                raise
            if ctx.params.get("debug"):
                import traceback

                traceback.print_exc()
            message, code = outcome
            typer.echo(f"octavo: {message}", err=True)
            raise typer.Exit(code) from None


def _outcome(error: BaseException) -> tuple[str, int] | None:
    """The message and exit code of an error, None for one that is a fault of this program."""
    if isinstance(error, OctavoError):
        return str(error), error.exit_code
    if isinstance(error, KeyboardInterrupt):
        return "interrupted; the same command continues", EXIT_INTERRUPTED
    if isinstance(error, PermissionError):
        return f"{error.filename or error}: no permission; change it or choose another place", EXIT_INPUT
    failure = _failure_of_machine(error)
    return None if failure is None else (failure, EXIT_MACHINE)


def _failure_of_machine(error: BaseException) -> str | None:
    """What to say of memory, device or disk; torch is not imported here, so its errors are told by name and text."""
    kind = type(error).__name__
    if isinstance(error, MemoryError) or kind == "OutOfMemoryError" or _CPU_IS_FULL in str(error):
        return "out of memory; set a smaller lanes.memory, with another --out"
    if kind == "AcceleratorError":
        reason = str(error).strip().split("\n")[0]
        return f"the device failed ({reason}); then the same command continues"
    if isinstance(error, OSError) and error.errno in _DISK_ERRORS:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{_DISK_ERRORS[error.errno]}; then the same command continues"
    return None


app = typer.Typer(
    cls=_Commands,
    name="octavo",
    help="Train many LoRA variants of a small language model side by side over one frozen base, "
    "and compare them honestly.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

StudyArgument = Annotated[str, typer.Argument(metavar="STUDY", help="A study file, or a ready study's name.")]
StageArgument = Annotated[
    str, typer.Argument(metavar="STUDY_OR_OUT", help="A study file, a ready study's name, or a study folder.")
]
OutOption = Annotated[Path, typer.Option("--out", help="The study folder: everything is written there.")]
StageOut = Annotated[
    Path | None, typer.Option("--out", help="The study folder; not needed where STUDY_OR_OUT is one.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting, e.g. train.learning_rate=1e-3."),
]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"octavo {__version__}")
        raise typer.Exit


@app.callback()
def _octavo(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback with an error.")] = False,
) -> None:
    """Options before the command."""


@app.command()
def init(path: Annotated[Path, typer.Argument(help="The file to write.")] = Path("study.yaml")) -> None:
    """Write a commented study file to start from; it runs as it is."""
    from octavo.artifacts import write_text_atomic
    from octavo.study_files import ready_text

    if path.exists():
        raise InputError(f"{path}: is there already; name another file")
    write_text_atomic(path, ready_text("start"))
    typer.echo(f"wrote {path}; run it with: octavo run {path} --out out/start", err=True)


@app.command()
def demo(out: OutOption = Path("out/demo"), as_json: JsonOption = False) -> None:
    """Train the eight demo variants on the embedded model; minutes on two CPU cores."""
    _run("demo", out, [], as_json)


@app.command()
def run(
    study: StudyArgument, out: OutOption, settings: SetOption = None, as_json: JsonOption = False
) -> None:
    """Do a whole study: data, training, evaluation, report. The same command continues after a stop."""
    _run(study, out, settings or [], as_json)


@app.command()
def data(
    study: StageArgument,
    out: StageOut = None,
    settings: SetOption = None,
    show: Annotated[int, typer.Option("--show", min=0, help="Print N examples of all variants.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Make the datasets and their quality cards only."""
    from rich.console import Console

    folder, cards = _stage("stage_data", study, out, settings)
    if as_json:
        _print_json(cards)
        return
    console = Console()
    if cards:
        from octavo.corpus.card_table import card_table

        console.print(card_table(cards))
    if show:
        from octavo.artifacts import Folder
        from octavo.corpus.preview import show_examples
        from octavo.study import Study

        variants = [variant.name for variant in Study.load(folder).variants]
        show_examples(Folder(folder), variants, show, console)


@app.command()
def plan(
    study: StageArgument,
    settings: SetOption = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="Measure two steps: corrects the memory, predicts the time.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Predict memory and time of a study before anything is trained; writes nothing."""
    from octavo import pipeline
    from octavo.progress import open_progress
    from octavo.study import Study

    out = Path(study) if (Path(study) / "study.yaml").is_file() else None
    found = pipeline.stage_plan(Study.load(study, settings or []), out, open_progress(), probe)
    if as_json:
        _print_json([one.to_json() for one in found])
        return
    from rich.console import Console

    from octavo.training.plan_table import plan_table

    for one in found:
        Console().print(plan_table(one))


@app.command()
def train(
    study: StageArgument, out: StageOut = None, settings: SetOption = None, as_json: JsonOption = False
) -> None:
    """Train only, on the datasets that are there."""
    from octavo.artifacts import Folder
    from octavo.ledger import Ledger

    folder, _ = _stage("stage_train", study, out, settings)
    rows = Ledger(Folder(folder).ledger).rows()
    if as_json:
        _print_json(rows)
    for row in () if as_json else rows:
        typer.echo(f"{row['run']}\t{row['state']}")
    _leave_unless(all(row["state"] == "completed" for row in rows))


@app.command()
def report(study: StageArgument, out: StageOut = None, settings: SetOption = None) -> None:
    """Gather results.json from what is there and draw report.html only."""
    _stage("stage_report", study, out, settings)


@app.command()
def check(
    path: Annotated[Path, typer.Argument(help="An adapter folder, a .safetensors file or a study folder.")],
    as_json: JsonOption = False,
    base: Annotated[
        str | None, typer.Option("--base", help="The adapters' base, if not the one that they name.")
    ] = None,
    scan: Annotated[bool, typer.Option("--scan", help="Read the files only, load no base.")] = False,
) -> None:
    """Count NaN and Inf in saved weights, tell whether each adapter moved and what it is on its base; 1 if bad."""
    from octavo.vitals.check import check_adapter
    from octavo.vitals.check_table import check_table

    found = check_adapter(path, None if scan else base or "own")
    if as_json:
        _print_json(found)
    else:
        from rich.console import Console

        check_table(found, Console())
    _leave_unless(found["ok"])


@app.command()
def verify(
    study: Annotated[
        str | None, typer.Argument(help="A study whose bases are taken; else the embedded one.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines only.")] = False,
    steps: Annotated[int, typer.Option(min=4, help="Optimizer steps of the shorter runs.")] = 20,
    objective: Annotated[
        Literal["causal", "masked_diffusion"] | None,
        typer.Option(
            help="What is learned, in the place of the bases' own; looking ahead where tokens are hidden."
        ),
    ] = None,
) -> None:
    """Prove that lanes train what each run trains alone, and what plain PEFT trains; exit code 1 if not."""
    from octavo.study import Base, Study
    from octavo.verification.command import under, verify_base

    chosen = Study.load(study) if study else None
    good = True
    for one in chosen.bases if chosen else [Base()]:
        base = under(one, objective)
        found, holds = verify_base(base, chosen.directory if chosen else Path.cwd(), steps, quiet=as_json)
        typer.echo(json.dumps(found))
        good = good and holds
    _leave_unless(good)


@app.command()
def doctor(
    as_json: JsonOption = False,
    seconds: Annotated[float, typer.Option("--seconds", min=1, help="That one probe may take.")] = 60.0,
) -> None:
    """Try what this machine trains on and say what is missing; exit code 1 if nothing can train."""
    import os

    from octavo.models.cache import cache_dir
    from octavo.training.doctor.examine import examine
    from octavo.training.doctor.known import save
    from octavo.training.doctor.text import examination_text

    found = examine(os.environ, cache_dir(), seconds)
    if found.cache["writable"]:
        save(found.devices[1], os.environ)
    if as_json:
        _print_json(found.to_json())
    else:
        typer.echo(examination_text(found))
    _leave_unless(found.good)


@app.command()
def power(
    out: Annotated[
        Path | None, typer.Argument(metavar="OUT", help="An evaluated study folder, to measure spreads in.")
    ] = None,
    effect: Annotated[
        float, typer.Option("--effect", help="The difference to be found, in the metric's units.")
    ] = 0.0,
    metric: Annotated[
        str, typer.Option("--metric", help="As in evaluate.comparisons.")
    ] = "heldout_loss_control",
    run_sd: Annotated[
        float | None, typer.Option("--run-sd", min=0, help="Spread of runs between seeds.")
    ] = None,
    item_sd: Annotated[float | None, typer.Option("--item-sd", min=0, help="Spread of one answer.")] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Seeds an arm.")] = 6,
    items: Annotated[int | None, typer.Option("--items", min=2, help="Items that all answer.")] = None,
    comparisons: Annotated[int, typer.Option("--comparisons", min=1, help="Claims declared together.")] = 1,
    alpha: Annotated[float, typer.Option("--alpha", min=1e-6, max=0.5)] = 0.05,
    wanted: Annotated[
        float, typer.Option("--power", min=0.1, max=0.999, help="How often to be found.")
    ] = 0.8,
    as_json: JsonOption = False,
) -> None:
    """Seeds and items that an effect needs, from a study's own spreads or from given ones."""
    from octavo.evaluation.power_command import measured, plan_power, power_table, power_words, settle_spread

    if not effect > 0:
        raise InputError("power: --effect is the difference to be found; give it as a number above 0")
    found = measured(out, metric) if out else None
    spread = settle_spread(found, run_sd, item_sd, items)
    plan = plan_power(spread, effect, alpha, comparisons, wanted, seeds)
    if as_json:
        _print_json(plan)
        return
    from rich.console import Console

    Console().print(power_table(plan))
    typer.echo("\n".join(power_words(plan)))


@app.command()
def recipes(as_json: JsonOption = False) -> None:
    """List the recipes that a variant can name, each with an example."""
    from rich.console import Console

    from octavo.corpus.preview import describe_recipes, show

    if as_json:
        _print_json(describe_recipes())
        return
    show(Console())


@app.command()
def keys(
    prefix: Annotated[str, typer.Argument(help="Only this key and those below it, e.g. train.lora.")] = "",
    markdown: Annotated[bool, typer.Option("--markdown", help="Print docs/study-file.md.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List the keys of a study file: what each takes, its default, its meaning."""
    from rich.console import Console

    from octavo.reference import keys_below, keys_table, reference_text

    if markdown:
        typer.echo(reference_text(), nl=False)
        return
    found = keys_below(prefix)
    if as_json:
        _print_json([dataclasses.asdict(key) for key in found])
    else:
        Console().print(keys_table(found))


@app.command()
def base(
    model: Annotated[str, typer.Argument(metavar="NAME", help="An embedded model, folder, hub id or .gguf.")],
) -> None:
    """Print the folder of a base model, made if need be; plain transformers loads it."""
    from octavo.models.resolve import resolve_base
    from octavo.study import Base

    typer.echo(resolve_base(Base(name="base", model=model), Path.cwd()).folder)


@app.command()
def evaluate(
    study: Annotated[
        list[str] | None,
        typer.Argument(metavar="STUDY_OR_OUT", help="As of the other stages; or more adapters."),
    ] = None,
    out: StageOut = None,
    settings: SetOption = None,
    adapters: Annotated[
        list[str] | None,
        typer.Option("--adapters", metavar="PATH...", help="Compare adapters of any tool, without a study."),
    ] = None,
    base: Annotated[
        str | None, typer.Option("--base", help="The adapters' base, if not the one they name.")
    ] = None,
    suite: Annotated[
        list[str] | None,
        typer.Option("--suite", metavar="NAME=FILE", help="What to measure on adapters; again for more."),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Most items of a suite.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure the trained adapters only; or adapters of any tool, with --adapters."""
    if adapters:
        cli_use.evaluate_adapters([*adapters, *(study or [])], base, suite or [], limit, as_json)
        return
    if len(study or []) != 1 or suite or base or limit:
        raise InputError(
            "evaluate: give one study or study folder, or --adapters PATH... with --suite NAME=FILE"
        )
    assert study is not None
    _stage("stage_evaluate", study[0], out, settings)
    if as_json:
        from octavo.artifacts import Folder

        folder = Folder(out or study[0])
        _print_json(
            {file.stem: str(file) for file in sorted(folder.evaluation("heldout").parent.glob("*.jsonl"))}
        )


app.command()(cli_use.chat)
app.command()(cli_use.generate)
app.command()(cli_use.export)


def _print_json(found: Any) -> None:
    from octavo.artifacts import json_safe

    typer.echo(json.dumps(json_safe(found), ensure_ascii=False, allow_nan=False))


def _run(study: str, out: Path, settings: list[str], as_json: bool) -> None:
    from octavo import pipeline
    from octavo.progress import open_progress
    from octavo.study import Study

    results = pipeline.run(Study.load(study, settings), out, open_progress())
    if as_json:
        _print_json(results)
    for row in () if as_json else results["runs"]:
        typer.echo("\t".join([row["id"], row["state"], _figure(row.get("heldout_loss"))]))
    unmet = [item["name"] for item in results.get("criteria") or [] if item["met"] is False]
    if unmet:
        typer.echo(f"octavo: criteria not met: {', '.join(unmet)}", err=True)
    _leave_unless(not unmet and all(row["state"] == "completed" for row in results["runs"]))


def _stage(name: str, study: str, out: Path | None, settings: list[str] | None) -> tuple[Path, Any]:
    """Run one stage of the pipeline. **Returns** the study folder and what the stage returned."""
    from octavo import pipeline
    from octavo.progress import open_progress
    from octavo.study import Study

    if out is None:
        if not (Path(study) / "study.yaml").is_file():
            raise InputError(f"{study}: is no study folder; say with --out where the study's files are")
        out = Path(study)
    return out, getattr(pipeline, name)(Study.load(study, settings or []), out, open_progress())


def _figure(value: Any) -> str:
    return "-" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)


def _leave_unless(good: bool) -> None:
    if not good:
        raise typer.Exit(EXIT_NOT_MET)


def main() -> None:
    """The `octavo` program."""
    app(prog_name="octavo")


if __name__ == "__main__":
    main()
