"""Dhara models that come with Octavo: random, seeded, the embedded base's tokenizer with a mask token.

They have learned nothing. `dhara-tiny` is for tests and small studies; the shapes of the two published models are for
checks of speed and equality.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from octavo.models.cache import build_once, cache_dir
from octavo.models.embedded import embedded_folder

MASK = "<|mask|>"
_TOKENIZER_OF = "smollm2-135m-instruct"
_VERSION = 1
_SEED = 0

# sizes by name; model_type picks the class and the other defaults
SHAPES: dict[str, dict[str, Any]] = {
    "dhara-tiny": {
        "model_type": "dhara",
        "vocab_size": 49_160,
        "hidden_size": 64,
        "intermediate_size": 160,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "canon_set": "ABCD",
        "max_position_embeddings": 2048,
    },
    # inferred from its published size; the config.json of a real folder decides
    "dhara-70m": {
        "model_type": "dhara",
        "vocab_size": 50_304,
        "hidden_size": 384,
        "intermediate_size": 1024,
        "num_hidden_layers": 32,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "canon_set": "AC",
    },
    "dhara-250m": {"model_type": "dhara_ar", "num_hidden_layers": 32, "mask_token_id": 49_152},
}
BUILTIN = ("dhara-tiny",)


def dhara_config(name: str) -> Any:
    """The config of a named shape."""
    from octavo.models.dhara.config import CONFIGS

    sizes = dict(SHAPES[name])
    kind = sizes.pop("model_type")
    chosen = next(config for config in CONFIGS if config.model_type == kind)
    return chosen(**sizes)


def builtin_folder(name: str) -> Path:
    """The transformers folder of a built-in model, made at the first call.

    Raises:
        InputError: the embedded tokenizer is not to be had, or the cache cannot be written.
    """
    folder = cache_dir() / "bases" / f"{name}-v{_VERSION}"
    return build_once(folder, lambda temporary: _build(name, temporary))


def _build(name: str, folder: Path) -> None:
    import torch
    from transformers import AutoTokenizer

    from octavo.models.dhara.model import MODELS
    from octavo.models.quiet import quiet

    with quiet(), torch.random.fork_rng(devices=[]):
        tokenizer: Any = AutoTokenizer.from_pretrained(embedded_folder(_TOKENIZER_OF), local_files_only=True)
        tokenizer.add_special_tokens({"mask_token": MASK})
        config = dhara_config(name)
        config.mask_token_id = tokenizer.mask_token_id
        config.eos_token_id = tokenizer.eos_token_id
        torch.manual_seed(_SEED)
        chosen = next(model for model in MODELS if model.config_class is type(config))
        chosen(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
