"""A published Dhara folder read strictly: the config says which tensors there must be, and no code of it runs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from octavo.errors import InputError
from octavo.models.dhara.model import MODELS, DharaForCausalLM

TYPES = tuple(model.config_class.model_type for model in MODELS)
# names of one published scheme: ours
_RENAMED = (
    (re.compile(r"\.canon([A-D])\.weight$"), lambda m: f".canon_{m.group(1).lower()}.conv.weight"),
    (re.compile(r"\.canon([A-D])\.bias$"), lambda m: f".canon_{m.group(1).lower()}.conv.bias"),
    (
        re.compile(r"\.canon_([a-d](?:_[qkv])?)\.(weight|bias)$"),
        lambda m: f".canon_{m.group(1)}.conv.{m.group(2)}",
    ),
)
_FREQUENCIES = re.compile(r"^model\.(?:layers\.(\d+)\.self_attn\.)?rotary_emb\.inv_freq$")
_SHOWN = 8


def load_dhara(folder: Path, dtype: torch.dtype) -> DharaForCausalLM:
    """The model of a folder with config.json and safetensors, on the CPU, in eval mode.

    Raises:
        InputError: no such model type, tensors missing, unexpected or misshapen (each named, with the nearest known
            name), or a file that cannot be read.
    """
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    if config.model_type not in TYPES:
        raise InputError(f"{folder}: model_type '{config.model_type}' is none of {', '.join(TYPES)}")
    tensors = {_renamed(name): tensor for name, tensor in _read(folder).items()}
    _take_frequencies(tensors, config)
    chosen = next(model for model in MODELS if model.config_class.model_type == config.model_type)
    with torch.device("meta"):
        model = chosen(config)
    expected = dict(model.state_dict())
    if config.tie_word_embeddings:
        tensors.pop("lm_head.weight", None)
        expected.pop("lm_head.weight")
    _compare(folder, tensors, expected)
    model.load_state_dict(
        {name: tensor.to(dtype) for name, tensor in tensors.items()}, strict=False, assign=True
    )
    model.tie_weights()
    return model.eval()


def _read(folder: Path) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for file in sorted(folder.glob("*.safetensors")):
        try:
            found |= load_file(file)
        except (SafetensorError, OSError) as error:
            raise InputError(f"{file}: cannot be read ({error}); get the file again") from error
    if not found:
        raise InputError(f"{folder}: has no *.safetensors with tensors in it; put the weights there")
    return found


def _renamed(name: str) -> str:
    for pattern, other in _RENAMED:
        if pattern.search(name):
            return pattern.sub(other, name)
    return name


def _take_frequencies(tensors: dict[str, Tensor], config: object) -> None:
    """RoPE's frequencies go from the tensors into the config, where they win over its theta."""
    found = {name: match for name in tensors if (match := _FREQUENCIES.match(name))}
    if not found:
        return
    layers = {int(m.group(1)): tensors[name].float().tolist() for name, m in found.items() if m.group(1)}
    single = next((tensors[name].float().tolist() for name, m in found.items() if not m.group(1)), None)
    for name in found:
        del tensors[name]
    config.inv_freq = single if single is not None else [layers[n] for n in sorted(layers)]  # type: ignore[attr-defined]


def _compare(folder: Path, found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    missing, unexpected = sorted(set(expected) - set(found)), sorted(set(found) - set(expected))
    misshapen = [
        f"{name} is {tuple(found[name].shape)}, the config makes it {tuple(expected[name].shape)}"
        for name in sorted(set(found) & set(expected))
        if found[name].shape != expected[name].shape
    ]
    problems = []
    if missing:
        problems.append(f"{len(missing)} missing: {_listed(_near(missing, unexpected, 'there is'))}")
    if unexpected:
        near = _near(unexpected, missing or list(expected), "known is")
        problems.append(f"{len(unexpected)} not known: {_listed(near)}")
    if misshapen:
        problems.append(f"{len(misshapen)} of another shape: {_listed(misshapen)}")
    if problems:
        raise InputError(
            f"{folder}: its tensors are not those of its config.json. {'; '.join(problems)}. Check canon_set, "
            "canon_layout and the sizes in config.json, or get the folder again"
        )


def _near(names: Iterable[str], others: Iterable[str], says: str) -> list[str]:
    pool = list(others)
    found = []
    for name in list(names)[:_SHOWN]:
        match = difflib.get_close_matches(name, pool, 1, 0.8)
        found.append(f"{name} ({says} {match[0]})" if match else name)
    return found + list(names)[_SHOWN:]


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
