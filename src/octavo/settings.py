"""The sections of a study file, a model each: every key, its default and its range.

Values are read by `octavo.fields`; a key that this version cannot act on yet is in `octavo.unbuilt`.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from octavo import fields as f
from octavo.overrides import undot

EMBEDDED = "smollm2-135m-instruct"


class Section(BaseModel):
    """A part of the study file: unknown keys are errors, values are never guessed."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Base(Section):
    """A base model; `model` is `smollm2-135m-instruct` (embedded), a folder, a hub id or a .gguf file."""

    name: f.Name = "smollm2"
    model: f.Text = EMBEDDED
    revision: f.Text | None = None
    init: Literal["pretrained", "random"] = "pretrained"
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    objective: Literal["causal", "masked_diffusion"] = "causal"
    prediction: Literal["next", "same"] = "next"
    trust_remote_code: bool = False
    chat_template: f.Text | None = None
    eos: f.Text | None = None
    pad: f.Text | None = None
    attention: Literal["causal", "full", "block"] = "causal"
    block_size: f.Count | None = 32
    mask_token: f.Text | None = None

    @model_validator(mode="before")
    @classmethod
    def _named_after_its_model(cls, data: Any) -> Any:
        if isinstance(data, dict) and "name" not in data and isinstance(data.get("model"), str):
            last = data["model"].rstrip("/").rsplit("/", 1)[-1].removesuffix(".gguf")
            return data | {"name": re.sub(r"[^A-Za-z0-9._-]", "_", last)}
        return data

    @model_validator(mode="after")
    def _one_objective(self) -> Base:
        """What the other keys say must make sense under the objective."""
        if self.attention == "block" and self.block_size is None:
            raise ValueError("has attention: block and no block_size; give one, such as 32")
        if self.objective == "masked_diffusion":
            return self
        if self.attention != "causal":
            raise ValueError(
                f"has attention: {self.attention} and objective: causal, under which every token would see what it is "
                "to predict; take objective: masked_diffusion, or attention: causal"
            )
        if self.prediction != "next":
            raise ValueError(
                "has prediction: same and objective: causal, which would learn to copy each token; take objective: "
                "masked_diffusion, or prediction: next"
            )
        if self.mask_token is not None:
            raise ValueError(
                "has a mask_token and objective: causal, which hides nothing; take it out, or take objective: "
                "masked_diffusion"
            )
        return self


class Source(Section):
    """One of several sources of a corpus, drawn from by weight."""

    source: f.Text
    weight: f.Positive = 1.0


def _one_or_more_sources(value: Any) -> Any:
    return [{"source": value, "weight": 1.0}] if isinstance(value, str) else value


class Corpus(Section):
    """The examples that every variant starts from; a single `source` is read as a list of one."""

    source: Annotated[list[Source], BeforeValidator(_one_or_more_sources), Field(min_length=1)] = [
        Source(source="builtin")
    ]
    kinds: Annotated[dict[f.Kind, f.NonNegative], Field(min_length=1)] = {
        "reasoning": 0.6,
        "conversation": 0.4,
    }
    examples: f.Count = 1000
    heldout: f.Count = 100
    seed: f.Seed = 0
    fields: dict[str, f.Text] | None = None

    @model_validator(mode="after")
    def _some_weight(self) -> Corpus:
        if not sum(self.kinds.values()) > 0:
            raise ValueError("gives every kind the weight 0; give one of corpus.kinds a weight above 0")
        return self


class Lora(Section):
    """Shape and scale of the adapters."""

    rank: f.Count = 8
    alpha: f.Positive = 16.0
    dropout: f.Fraction = 0.1
    targets: f.Targets = "attention"
    rank_scaling: Literal["standard", "sqrt"] = "standard"


class Schedule(Section):
    """Learning rate over the steps; `decay_steps` and `decay` are for wsd, `floor` is a share of the peak."""

    kind: Literal["constant", "linear", "cosine", "wsd"] = "cosine"
    warmup_steps: f.Natural = 50
    decay_steps: f.Count | None = None
    decay: Literal["cosine", "linear", "1-sqrt", "exponential"] = "cosine"
    floor: f.Fraction = 0.0


class Train(Section):
    """Hyper-parameters of a run; length is either `epochs` or `steps`, the other one is null."""

    method: Literal["lora", "full"] = "lora"
    lora: Lora = Lora()
    epochs: f.Count | None = 3
    steps: f.Count | None = None
    batch_size: f.Count = 2
    accumulation: f.Count = 4
    learning_rate: f.Positive = 1e-4
    learning_rate_ratio_b: f.Positive = 1.0
    schedule: Schedule = Schedule()
    weight_decay: f.NonNegative = 0.01
    betas: Annotated[list[f.Fraction], Field(min_length=2, max_length=2)] = [0.9, 0.999]
    eps: f.Positive = 1e-8
    max_grad_norm: f.Positive | None = 1.0
    max_length: Annotated[int, BeforeValidator(f.read_integer), Field(ge=2)] = 512
    overlong: Literal["drop", "cut"] = "drop"
    mask_symbols: bool = False
    eval_every: f.Count = 100
    save_every: f.Count = 200
    keep_checkpoints: f.Count = 2

    @model_validator(mode="before")
    @classmethod
    def _steps_instead_of_epochs(cls, data: Any) -> Any:
        return settle_length(data) if isinstance(data, dict) else data

    @model_validator(mode="after")
    def _one_length(self) -> Train:
        if (self.epochs is None) == (self.steps is None):
            state = "neither" if self.steps is None else "both"
            raise ValueError(f"has {state} of epochs and steps; set one of them")
        return self


def settle_length(data: dict[str, Any]) -> dict[str, Any]:
    """`data` with the length that was not chosen set to null: whoever sets steps means no epochs."""
    if data.get("steps") is not None and "epochs" not in data:
        return data | {"epochs": None}
    if data.get("epochs") is not None and "steps" not in data:
        return data | {"steps": None}
    return data


class Variant(Section):
    """One arm: a recipe (or a chain of them), or a data file; `train` overrides the study's."""

    name: f.Name
    recipe: f.Names = None
    options: f.Options = {}
    base: str | None = None
    data: f.Text | None = None
    train: Annotated[dict[str, Any], BeforeValidator(undot)] = {}

    @model_validator(mode="after")
    def _recipe_or_data(self) -> Variant:
        if (self.recipe is None) == (self.data is None):
            state = "neither" if self.data is None else "both"
            raise ValueError(f"has {state} of recipe and data; give one of them")
        return self


class Stopping(Section):
    """Early stopping of a sweep's weaker runs."""

    kind: Literal["halving"] = "halving"
    rungs: f.Count = 3
    factor: Annotated[int, BeforeValidator(f.read_integer), Field(ge=2)] = 3
    metric: f.Text = "heldout_loss"


class Lanes(Section):
    """How runs share the device; `max_parallel` and `stagger_seconds` are for runs with models of their own."""

    executor: Literal["fused", "replicas"] = "fused"
    strategy: f.Strategy = "auto"
    memory: f.Memory = "auto"
    max_parallel: f.Count = 2
    stagger_seconds: f.NonNegative = 5.0
    allow_shorter: bool = False


class Vitals(Section):
    """What is watched while a run trains."""

    every: f.Count = 5
    spectrum_every: f.Count = 50
    on_trip: Literal["stop", "rescue", "continue"] = "stop"
    thresholds: Literal["calibrated"] | dict[str, f.Positive] = "calibrated"


class SuiteChoice(Section):
    """An evaluation suite by name, its own file, a limit of items and options of its own where it takes them."""

    name: f.Name
    file: f.Text | None = None
    limit: f.Count | None = None
    options: f.Options = {}

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, data: Any) -> Any:
        return {"name": data} if isinstance(data, str) else data


class Comparison(Section):
    """A claim declared before training; `pool_rescued` counts rescued runs too, which had another treatment."""

    kind: Literal["difference", "equivalence", "trend", "interaction"] = "difference"
    variants: f.Names = ["all"]
    control: f.Text = "control"
    metric: f.Text = "heldout_loss_control"
    margin: f.Positive | None = None
    correction: Literal["holm", "benjamini-hochberg", "none"] = "holm"
    alpha: f.Level = 0.05
    pool_rescued: bool = False

    @model_validator(mode="after")
    def _margin_where_it_has_a_meaning(self) -> Comparison:
        if self.variants is None:
            raise ValueError("has no variants; write all or a list of names")
        if self.kind == "equivalence" and self.margin is None:
            raise ValueError(
                "is an equivalence without a margin; set margin to the largest difference that counts as none"
            )
        if self.kind != "equivalence" and self.margin is not None:
            raise ValueError(f"is a {self.kind} with a margin; take it out or write kind: equivalence")
        return self


class Evaluate(Section):
    """What is measured after training."""

    suites: list[SuiteChoice] = [SuiteChoice(name="heldout")]
    generations: f.Natural = 3
    comparisons: list[Comparison] | None = None


class Basins(Section):
    """Loss barriers and behaviour between adapters."""

    pairs: Literal["star", "all"] = "star"
    points: f.Count = 1
    items: f.Count = 16
    planes: bool = False
    attractors: bool = False


class Criteria(Section):
    """What the study must meet to end with exit code 0; null is not asked."""

    nonfinite_parameters: f.Natural | None = 0
    max_memory_share: f.Share | None = None
    max_minutes_per_run: f.Positive | None = None
    loss_falls: bool | None = None


class Report(Section):
    """Title of the report, and where else metrics go."""

    title: f.Text | None = None
    loggers: list[Literal["tensorboard", "trackio", "wandb"]] = []


def dotted_keys(model: type[BaseModel], prefix: str = "") -> list[str]:
    """Every key of a model and of the models in it, dotted; list positions are left out."""
    keys = []
    for name, field in model.model_fields.items():
        key = f"{prefix}{field.alias or name}"
        keys.append(key)
        for inner in _models_in(field.annotation):
            keys += dotted_keys(inner, f"{key}.")
    return keys


def leaf_keys(model: type[BaseModel]) -> list[str]:
    """The dotted keys that hold a value and no further keys."""
    keys = dotted_keys(model)
    return [key for key in keys if not any(other.startswith(f"{key}.") for other in keys)]


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]
