"""Adapters as plain PEFT folders: what a run ends as, and what any other tool can load or has written."""

from __future__ import annotations

import json
import math
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from octavo.errors import InputError
from octavo.lanes.adapters import AdapterSpec
from octavo.lanes.targets import features_of, is_linear, linear_layers

WEIGHTS = "adapter_model.safetensors"
CONFIG = "adapter_config.json"
_PREFIX = "base_model.model."

Matrices = dict[str, tuple[Tensor, Tensor]]


def adapter_files(
    spec: AdapterSpec, matrices: Matrices, base_name: str, model: nn.Module
) -> dict[str, bytes]:
    """The files of a PEFT adapter folder: {file name: content}.

    Arguments:
        matrices: {layer: (A [r, I], B [O, r])} of `AdapterBank.read`.
        base_name: goes into `base_model_name_or_path`.
        model: tells which layers store their weight the other way round (Conv1D).
    """
    from peft import LoraConfig

    layers = dict(model.named_modules())
    conv1d = any(type(getattr(layers[n], "base", layers[n])).__name__ == "Conv1D" for n in spec.targets)
    config = LoraConfig(
        task_type="CAUSAL_LM",
        base_model_name_or_path=base_name,
        inference_mode=True,
        r=spec.rank,
        lora_alpha=spec.alpha,  # type: ignore[arg-type]
        lora_dropout=spec.dropout,
        target_modules=_short_targets(model, spec.targets),
        use_rslora=spec.rank_scaling == "sqrt",
        fan_in_fan_out=conv1d,
    ).to_dict()
    config["target_modules"] = sorted(config["target_modules"])
    tensors: dict[str, Tensor] = {}
    for name, (a, b) in matrices.items():
        tensors[f"{_PREFIX}{name}.lora_A.weight"] = a.contiguous().cpu()
        tensors[f"{_PREFIX}{name}.lora_B.weight"] = b.contiguous().cpu()
    return {
        WEIGHTS: save(tensors, metadata={"format": "pt"}),
        CONFIG: json.dumps(config, indent=2, sort_keys=True, default=str).encode(),
    }


def _short_targets(model: nn.Module, targets: tuple[str, ...]) -> list[str]:
    """The last parts of the names where they mean exactly these layers, else the full names."""
    short = sorted({name.rsplit(".", 1)[-1] for name in targets})
    head = model.get_output_embeddings()  # type: ignore[operator]
    meant = [
        name
        for name, module in model.named_modules()
        if name.rsplit(".", 1)[-1] in short and is_linear(module) and module is not head
    ]
    return short if set(meant) == set(targets) else sorted(targets)


def load_adapter(folder: Path, model: nn.Module) -> tuple[AdapterSpec, Matrices]:
    """Read a LoRA adapter folder, ours or any PEFT one, for a model.

    Raises:
        InputError: files missing or damaged, not LoRA, or made for other layers; the message names the file.
    """
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        tensors = load_file(folder / WEIGHTS)
    except FileNotFoundError as error:
        raise InputError(
            f"{folder} is no PEFT adapter folder: {Path(error.filename or '').name} is missing"
        ) from error
    except (json.JSONDecodeError, SafetensorError, OSError) as error:
        raise InputError(f"{folder}: the adapter cannot be read ({error}); write it again") from error
    refused = [k for k in ("use_dora", "rank_pattern", "alpha_pattern", "modules_to_save") if config.get(k)]
    if config.get("peft_type") != "LORA" or refused:
        odd = ", ".join(refused) or config.get("peft_type")
        raise InputError(f"{folder / CONFIG}: only plain LoRA can be read, this one has {odd}")
    matrices = _pair(tensors, folder)
    layers = linear_layers(model)
    rank = int(config["r"])
    for name, (a, b) in matrices.items():
        if name not in layers:
            raise InputError(
                f"{folder / WEIGHTS}: it adapts '{name}', a layer that this base model does not have"
            )
        layer = layers[name]
        if (a.shape[1], b.shape[0]) != features_of(layer) or a.shape[0] != rank:
            raise InputError(
                f"{folder / WEIGHTS}: '{name}' has shapes {tuple(a.shape)}, {tuple(b.shape)}; the base's layer has "
                f"{features_of(layer)} features in and out, and {CONFIG} says rank {rank}"
            )
    spec = AdapterSpec(
        rank=rank,
        alpha=float(config["lora_alpha"]),
        dropout=0.0,
        targets=tuple(n for n in layers if n in matrices),
        rank_scaling="sqrt" if config.get("use_rslora") else "standard",
    )
    return spec, matrices


def _pair(tensors: dict[str, Tensor], folder: Path) -> Matrices:
    matrices: Matrices = {}
    for key, tensor in tensors.items():
        stem, _, kind = key.removesuffix(".weight").rpartition(".lora_")
        if kind not in {"A", "B"} or not stem.startswith(_PREFIX):
            raise InputError(
                f"{folder / WEIGHTS}: tensor '{key}' is not part of a LoRA adapter on linear layers"
            )
        if kind == "A":
            other = f"{stem}.lora_B.weight"
            if other not in tensors:
                raise InputError(f"{folder / WEIGHTS}: '{other}' is missing")
            matrices[stem.removeprefix(_PREFIX)] = (tensor.float(), tensors[other].float())
    return matrices


def nonfinite_count(matrices: Matrices) -> int:
    """How many numbers of an adapter are NaN or infinite."""
    return sum(int((~torch.isfinite(m)).sum()) for pair in matrices.values() for m in pair)


def unmoved_layers(matrices: Matrices) -> list[str]:
    """Layers whose B is still all zero: nothing was trained there."""
    return [name for name, (_, b) in matrices.items() if not bool(b.any())]


def delta_norm(matrices: Matrices, scale: float) -> float:
    """Frobenius norm of the whole update, all layers together, in float64 from r x r Grams."""
    total = 0.0
    for a, b in matrices.values():
        gram_a, gram_b = a.double() @ a.double().t(), b.double().t() @ b.double()
        total += float((gram_a * gram_b).sum())
    return scale * math.sqrt(max(total, 0.0))
