"""A GGUF file turned into a plain transformers folder: safetensors, tokenizer, chat template."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from octavo.errors import InputError
from octavo.models.gguf_tokenizer import load_gguf_tokenizer
from octavo.models.quiet import quiet

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# Raised when the converted folder changes, so that folders cached by an older octavo are built anew.
CONVERSION = 1


def convert_gguf(path: Path, folder: Path) -> None:
    """Write the model of the GGUF file `path` into the existing `folder`, dequantised, in float32.

    Float32 because the products of a 4-bit block's scale, offset and code are not exact in bfloat16.
    Peak memory is about 8 bytes a parameter.

    Raises:
        InputError: transformers cannot read the file.
    """
    try:
        tokenizer = load_gguf_tokenizer(path)
        with quiet(stderr=True):
            model = _load_dequantised(path)
    except MemoryError:
        raise
    except Exception as error:  # a torn file, or one of a kind that transformers does not know: many errors
        raise InputError(
            f"transformers cannot read {path} ({type(error).__name__}: {error}): get the file again, or give the "
            f"model as a folder of safetensors."
        ) from error
    with quiet():
        if positions := getattr(model.config, "max_position_embeddings", None):
            tokenizer.model_max_length = positions
        model.save_pretrained(folder, max_shard_size="1TB")
        tokenizer.save_pretrained(folder)


def read_gguf(path: Path) -> PreTrainedModel:
    """The model of a GGUF file as transformers reads it, dequantised, in float32."""
    import torch
    import transformers

    options: dict[str, Any] = {"gguf_file": path.name, "dtype": torch.float32}
    if hasattr(
        transformers, "GgufConfig"
    ):  # newer releases can keep the blocks packed, for their own kernels
        options["quantization_config"] = transformers.GgufConfig(dequantize=True)
    return transformers.AutoModelForCausalLM.from_pretrained(path.parent, **options)


def _load_dequantised(path: Path) -> PreTrainedModel:
    """The model as a plain one: transformers takes what it read from GGUF for quantised and won't save it."""
    import torch

    loaded = read_gguf(path)
    config = copy.deepcopy(loaded.config)
    if hasattr(
        config, "quantization_config"
    ):  # it would make every later loader look for the GGUF file again
        del config.quantization_config
    with torch.device("meta"):
        plain = type(loaded)(config)
    plain.load_state_dict(loaded.state_dict(), assign=True)
    plain.tie_weights()
    plain.generation_config = loaded.generation_config
    return plain
