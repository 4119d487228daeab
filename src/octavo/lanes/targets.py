"""Which linear layers of a model an adapter is put on."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from torch import nn

from octavo.errors import InputError

PRESETS = ("attention", "all-linear")


def is_linear(module: nn.Module) -> bool:
    """True of a layer that multiplies by one two-dimensional weight: nn.Linear and the Conv1D of GPT-2."""
    weight = getattr(module, "weight", None)
    if isinstance(module, nn.Embedding) or weight is None or weight.dim() != 2:
        return False
    return isinstance(module, nn.Linear) or type(module).__name__ in {"Conv1D", "LaneLinear"}


def features_of(module: nn.Module) -> tuple[int, int]:
    """(input, output) features as the layer states them: a quantised layer's weight has another shape.

    Raises:
        TypeError: it is no linear layer.
    """
    names = ("nx", "nf") if type(module).__name__ == "Conv1D" else ("in_features", "out_features")
    inputs, outputs = (getattr(module, name, None) for name in names)
    if not isinstance(inputs, int) or not isinstance(outputs, int):
        raise TypeError(f"{type(module).__name__} does not say how many features go in and out")
    return inputs, outputs


def linear_layers(model: nn.Module) -> dict[str, nn.Module]:
    """All linear layers but the output head (the convention of PEFT's "all-linear"), in model order."""
    head = getattr(model, "get_output_embeddings", lambda: None)()
    return {name: m for name, m in model.named_modules() if is_linear(m) and m is not head}


def _inside_attention(name: str, model: nn.Module) -> bool:
    """True where a parent of the layer is an attention block, by the name of its class."""
    parts = name.split(".")[:-1]
    module: nn.Module = model
    for part in parts:
        module = getattr(module, part)
        if "attention" in type(module).__name__.lower():
            return True
    return False


def resolve_targets(model: nn.Module, targets: str | Sequence[str]) -> list[str]:
    """Full names of the layers that `targets` means.

    Arguments:
        targets: "attention", "all-linear", or names; a name matches a layer that is called so or ends in `.name`.

    Raises:
        InputError: a name matches nothing; the message lists what there is.
    """
    layers = linear_layers(model)
    if targets == "all-linear":
        chosen = list(layers)
    elif targets == "attention":
        chosen = [name for name in layers if _inside_attention(name, model)]
    else:
        wanted = [targets] if isinstance(targets, str) else list(targets)
        for one in wanted:
            if not any(_matches(name, one) for name in layers):
                raise InputError(_no_such_layer(one, layers))
        chosen = [name for name in layers if any(_matches(name, one) for one in wanted)]
    if not chosen:
        raise InputError(_no_such_layer(str(targets), layers))
    return chosen


def _matches(name: str, target: str) -> bool:
    return name == target or name.endswith("." + target)


def _no_such_layer(target: str, layers: dict[str, nn.Module]) -> str:
    kinds = sorted({name.rsplit(".", 1)[-1] for name in layers})
    near = difflib.get_close_matches(target, [*kinds, *PRESETS], n=1)
    hint = f"; did you mean '{near[0]}'?" if near else "."
    return (
        f"train.lora.targets: '{target}' matches no linear layer of this model{hint} "
        f"There are: {', '.join(kinds) or 'none'} (or {', '.join(PRESETS)})."
    )
