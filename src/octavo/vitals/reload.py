"""A finished adapter put back on its base by plain `peft`: does it load, what did it change, does it still speak."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from octavo.corpus.encode import Encoder
from octavo.models.load import load_model, load_tokenizer
from octavo.models.quiet import quiet
from octavo.models.resolve import BaseSource
from octavo.vitals.intruders import intruder_dimensions, left_vectors, relative_update

QUESTION = "What is the capital of France?"
NEW_TOKENS = 24


@dataclass(frozen=True)
class Spoken:
    """A short greedy continuation: its text, None once a logit was not finite; the first logits [V] in float32."""

    text: str | None
    logits_V: Tensor


@dataclass
class LoadedBase:
    """A base in float32 with what is worked out of it once for all adapters.

    Attributes:
        name: of the base. ids: the question as the base's prompt. spoken: its own answer.
        vectors: left singular vectors of the layers that were asked for, by name.
    """

    name: str
    model: Any
    encoder: Encoder
    ids: list[int]
    spoken: Spoken
    vectors: dict[str, Tensor] = field(default_factory=dict)


def load_base(source: BaseSource, device: torch.device, eos: str | None = None) -> LoadedBase:
    """Load a base and let it answer.

    Raises:
        InputError: it cannot be read, or its tokenizer cannot.
    """
    model = load_model(source, torch.float32).to(device)
    encoder = Encoder(load_tokenizer(source), None, eos)
    if encoder.has_template:
        ids = encoder.prompt([{"role": "user", "content": QUESTION}])
    else:
        ids = encoder.encode_text(QUESTION).ids[:-1]
    return LoadedBase(source.name, model, encoder, ids, speak(model, ids, encoder))


@torch.no_grad()
def speak(model: Any, ids: Sequence[int], encoder: Encoder, most: int = NEW_TOKENS) -> Spoken:
    """Continue ids by the most likely tokens, at most so many, up to a token that ends a turn."""
    device = next(model.parameters()).device
    ends, made = encoder.stop_ids, list[int]()
    first: Tensor | None = None
    for _ in range(most):
        # read anew each time: a cache is a thing that some architectures have and some keep otherwise
        logits_V = model(input_ids=torch.tensor([[*ids, *made]], device=device)).logits[0, -1].float()
        first = logits_V.cpu() if first is None else first
        if not bool(torch.isfinite(logits_V).all()):
            return Spoken(None, first)
        token = int(logits_V.argmax())
        if token in ends:
            break
        made.append(token)
    assert first is not None
    return Spoken(encoder.decode(made), first)


def reload(base: LoadedBase, folder: Path, finite: bool) -> dict[str, Any]:
    """Load an adapter folder by `peft` and compare it with the base, ready for JSON.

    Arguments:
        finite: whether all numbers of the adapter are; spectra of others do not exist.

    Returns:
        {loaded, reason, modules, largest_update, largest_update_module, intruders, logit_change, answer, base_answer};
        modules are {name, relative_update, intruders}: ||dW||/||W|| and intruder dimensions of each layer.
        logit_change: largest change of a logit after the question, over the base's largest logit. An answer is None
        where logits are not finite; everything is None where the adapter does not load.
    """
    try:
        with _adapted(base.model, folder) as adapted:
            modules = [_compare(base, *one) for one in _tuned_layers(adapted)] if finite else []
            spoken = speak(adapted, base.ids, base.encoder)
    except Exception as error:  # whatever a file made for other layers makes of its reader
        if isinstance(error, MemoryError):
            raise
        return _not_loaded(base, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")
    known = [one for one in modules if one["relative_update"] is not None]
    largest = max(known, key=lambda one: one["relative_update"], default=None)
    counts = [one["intruders"] for one in modules if one["intruders"] is not None]
    change = (spoken.logits_V - base.spoken.logits_V).abs().max() / base.spoken.logits_V.abs().max()
    return {
        "loaded": True,
        "reason": None,
        "modules": modules,
        "largest_update": largest and largest["relative_update"],
        "largest_update_module": largest and largest["name"],
        "intruders": sum(counts) if counts else None,
        "logit_change": float(change),
        "answer": spoken.text,
        "base_answer": base.spoken.text,
    }


def _not_loaded(base: LoadedBase, reason: str) -> dict[str, Any]:
    missing = dict.fromkeys(
        ("largest_update", "largest_update_module", "intruders", "logit_change", "answer")
    )
    return {"loaded": False, "reason": reason, "modules": [], **missing, "base_answer": base.spoken.text}


@contextmanager
def _adapted(model: Any, folder: Path) -> Iterator[Any]:
    """The base with the adapter on it; taken off again afterwards, loaded or not.

    peft only warns of tensors that its config promises and the file lacks; such an adapter has not been loaded.
    """
    from peft import PeftModel

    try:
        with quiet(), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            adapted = PeftModel.from_pretrained(model, folder, torch_device="cpu")
        lacking = [str(one.message) for one in said if "missing adapter keys" in str(one.message)]
        if lacking:
            raise ValueError(lacking[0])
        yield adapted.eval()
    finally:
        _take_off(model)


def _take_off(model: Any) -> None:
    """Put the base's own layers back; `unload` of peft is not there where loading broke off in between."""
    from peft.tuners.tuners_utils import BaseTunerLayer
    from peft.utils import ModulesToSaveWrapper

    for name, layer in list(model.named_modules()):
        parent, _, leaf = name.rpartition(".")
        if isinstance(layer, BaseTunerLayer):
            setattr(model.get_submodule(parent), leaf, layer.get_base_layer())
        elif isinstance(layer, ModulesToSaveWrapper):
            setattr(model.get_submodule(parent), leaf, layer.original_module)
    model.__dict__.pop("peft_config", None)


def _tuned_layers(adapted: Any) -> Iterator[tuple[str, tuple[Tensor, Tensor] | None]]:
    """(name, (W, dW)) of each layer that the adapter changes, matrices [O, I] in float32; None where dW is unknown."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    for name, layer in adapted.get_base_model().named_modules():
        weight = (
            getattr(layer.get_base_layer(), "weight", None) if isinstance(layer, BaseTunerLayer) else None
        )
        if not isinstance(weight, nn.Parameter) or weight.ndim < 2:
            continue
        try:
            delta = _delta(layer, weight)
        except (NotImplementedError, AttributeError):  # a kind that can neither be asked nor merged
            yield name, None
            continue
        # Conv1D keeps [I, O]
        turned = type(layer.get_base_layer()).__name__ == "Conv1D"
        first, second = (
            (m.detach().float().T if turned else m.detach().float().flatten(1)) for m in (weight, delta)
        )
        yield name, (first, second)


@torch.no_grad()
def _delta(layer: Any, weight: nn.Parameter) -> Tensor:
    """dW: what plain LoRA knows of itself; of any other kind the difference that merging makes."""
    from peft.tuners.lora import LoraLayer

    (active,) = layer.active_adapters
    if isinstance(layer, LoraLayer) and hasattr(layer, "get_delta_weight") and not layer.use_dora.get(active):
        return layer.get_delta_weight(active)
    before = weight.detach().clone()
    with quiet():
        layer.merge()
    after = weight.detach().clone()
    layer.unmerge()
    weight.copy_(before)  # unmerging leaves what rounding made of it
    return after - before


def _compare(base: LoadedBase, name: str, matrices: tuple[Tensor, Tensor] | None) -> dict[str, Any]:
    if matrices is None:
        return {"name": name, "relative_update": None, "intruders": None}
    weight_OI, delta_OI = matrices
    if name not in base.vectors:
        base.vectors[name] = left_vectors(weight_OI)
    return {
        "name": name,
        "relative_update": relative_update(weight_OI, delta_OI),
        "intruders": intruder_dimensions(base.vectors[name], weight_OI + delta_OI),
    }
