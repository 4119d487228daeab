"""The study: one YAML file with base models, a corpus, variants, hyper-parameters, seeds and evaluations."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr, ValidationError, ValidationInfo, model_validator

from octavo import fields as f
from octavo.artifacts import write_text_atomic
from octavo.declared import check_comparisons, declare_default
from octavo.errors import InputError
from octavo.expand import Run, expand
from octavo.explain import complain, explain
from octavo.overrides import apply_overrides
from octavo.settings import (
    Base,
    Basins,
    Corpus,
    Criteria,
    Evaluate,
    Lanes,
    Lora,
    Report,
    Schedule,
    Section,
    Source,
    Stopping,
    Train,
    Variant,
    Vitals,
    dotted_keys,
)
from octavo.study_files import anchor_paths, find_study
from octavo.sweep import sweep_axes
from octavo.unbuilt import refuse_unbuilt
from octavo.yaml_text import Document, dump_yaml, read_yaml
from octavo.yaml_text import Path as Path_

__all__ = ["Base", "Corpus", "Lora", "Run", "Schedule", "Source", "Study", "Train", "Variant"]


class Study(Section):
    """A whole study, every default filled in; `Study.load` reads one from a file."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    name: f.Text = "study"
    seeds: f.Seeds = Field(default=[0])
    bases: Annotated[list[Base], Field(min_length=1)]
    corpus: Corpus = Corpus()
    variants: Annotated[list[Variant], Field(min_length=1)]
    train: Train = Train()
    sweep: dict[str, Any] = Field(default={})
    stopping: Stopping | None = None
    lanes: Lanes = Lanes()
    vitals: Vitals | None = Vitals()
    evaluate: Evaluate
    basins: Basins | None = Basins()
    criteria: Criteria = Criteria()
    report: Report = Report()

    _directory: Path = PrivateAttr(default_factory=Path.cwd)
    _notes: list[str] = PrivateAttr(default_factory=list)
    _document: Document = PrivateAttr(default_factory=lambda: Document(None, "study"))

    @classmethod
    def load(cls, path_or_name: str | os.PathLike[str], overrides: Iterable[str] = ()) -> Study:
        """Read a study file, a study folder, or a ready study by its name.

        **Arguments**: `overrides`, texts like `train.learning_rate=1e-3`, read by the rules of the file.

        **Raises** `InputError` that names file, line, key, the bad value and what to do.
        """
        text, source, directory = find_study(path_or_name)
        document = read_yaml(text, source)
        anchor_paths(document.value, directory, apply_overrides(document, overrides))
        study = cls.parse(document)
        study._directory = directory
        study._document = document
        return study

    def refuse_missing(self) -> None:
        """Raise `InputError`, with line and key, where a recipe or data file that the study names is not there."""
        from octavo.named_things import refuse_missing

        refuse_missing(self, self._document)

    @classmethod
    def parse(cls, document: Document) -> Study:
        """A study from a document that was read, or from `Document(a dict, "its name in messages")`."""
        if not isinstance(document.value, dict):
            state = "is empty" if document.value is None else "holds no keys"
            raise InputError(f"{document.source}: {state}; `octavo init` writes a study to start from")
        try:
            return cls.model_validate(document.value, context=document)
        except ValidationError as error:
            raise explain(error, document, dotted_keys(cls)) from None

    @model_validator(mode="before")
    @classmethod
    def _built_parts(cls, data: Any, info: ValidationInfo) -> Any:
        """What is not built is refused, or null where it was not set."""
        if not isinstance(data, dict):
            return data
        data = copy.deepcopy(data)
        data.setdefault("bases", [{}])
        declare_default(data)
        refuse_unbuilt(data, _document(info, data))
        return data

    @model_validator(mode="after")
    def _whole(self, info: ValidationInfo) -> Study:
        """What no section can check alone: names, the sweep, every run's settings."""
        document = _document(info, {})
        _refuse_same_names(document, "bases", [base.name for base in self.bases])
        _refuse_same_names(document, "variants", [variant.name for variant in self.variants])
        names = [base.name for base in self.bases]
        for index, variant in enumerate(self.variants):
            if variant.base is not None and variant.base not in names:
                problem = f"is no base; there are {', '.join(names)}"
                raise InputError(complain(document, ("variants", index, "base"), problem, variant.base))
        axes, notes = sweep_axes(self, document)
        for axis in axes:
            if isinstance(self.sweep[axis.key], list):
                self.sweep[axis.key] = axis.values
        runs = expand(self, document)
        _refuse_symbols_without_masks(self, runs, document)
        check_comparisons(self, runs, document)
        self._notes = [*_seed_notes(document, self.seeds), *notes]
        return self

    @property
    def directory(self) -> Path:
        """The folder of the study file."""
        return self._directory

    @property
    def notes(self) -> list[str]:
        """What to tell a person once: values that are equal and were merged."""
        return self._notes

    def expand(self) -> list[Run]:
        """The runs: variants x swept settings x seeds, in a fixed order, all settings resolved."""
        return expand(self, Document(None, self.name))

    def resolved(self) -> dict[str, Any]:
        """The study as plain values, every default written out."""
        return self.model_dump(by_alias=True)

    def freeze(self, path: str | os.PathLike[str]) -> None:
        """Write the resolved study as YAML, atomically; `Study.load` gives an equal study back."""
        write_text_atomic(Path(path), dump_yaml(self.resolved()))

    def run(self, out: str | os.PathLike[str], progress: Any = None) -> dict[str, Any]:
        """Do everything: data, training, evaluation, report. **Returns** what `results.json` holds."""
        from octavo import pipeline

        return pipeline.run(self, out, progress)

    def __eq__(self, other: object) -> bool:
        """Equal settings make equal studies, wherever they were read from."""
        return isinstance(other, Study) and self.resolved() == other.resolved()

    __hash__ = None  # type: ignore[assignment]


def _document(info: ValidationInfo, data: Any) -> Document:
    return info.context if isinstance(info.context, Document) else Document(data, "study")


def _refuse_same_names(document: Document, section: str, names: list[str]) -> None:
    """Names become folders, and some file systems take no notice of case."""
    seen: dict[str, int] = {}
    for index, name in enumerate(names):
        first = seen.setdefault(name.casefold(), index)
        if first != index:
            line = document.origin((section, first, "name"))
            problem = f"is the name of {section}[{first}] too ({line}); give it another name"
            raise InputError(complain(document, (section, index, "name"), problem, name))


def _refuse_symbols_without_masks(study: Study, runs: list[Run], document: Document) -> None:
    """Under an objective that hides no tokens there are no symbols to hide together."""
    hiding = {base.name for base in study.bases if base.objective == "masked_diffusion"}
    for run in runs:
        if run.train.mask_symbols and run.base not in hiding:
            index = next(i for i, variant in enumerate(study.variants) if variant.name == run.variant)
            own = "mask_symbols" in study.variants[index].train
            swept = "train.mask_symbols" in study.sweep
            path: Path_ = ("variants", index, "train", "mask_symbols") if own else ("train", "mask_symbols")
            problem = (
                f"hides the tokens of a symbol together, but base {run.base} learns objective: causal, which hides "
                "none; take it out, or take objective: masked_diffusion"
            )
            where: Path_ = ("sweep", "train.mask_symbols") if swept else path
            raise InputError(complain(document, where, problem, True))


def _seed_notes(document: Document, seeds: list[int]) -> list[str]:
    written = document.value.get("seeds") if isinstance(document.value, dict) else None
    if not isinstance(written, list) or len(written) == len(seeds):
        return []
    texts = [document.origin(("seeds", index)).text or str(seed) for index, seed in enumerate(written)]
    return [f"seeds: {', '.join(texts)} are the seeds {', '.join(map(str, seeds))}: equal ones are one run"]
