"""Weights and tokenizer of a resolved base: frozen, checked, loaded by one thread at a time."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from octavo.errors import InputError
from octavo.models.mask_token import add_mask_row
from octavo.models.quiet import quiet
from octavo.models.resolve import BaseSource

if TYPE_CHECKING:
    import torch
    from torch import nn
    from transformers import PreTrainedTokenizerFast

# Loading goes through process-wide state (default dtype and device, meta tensors): two threads at once have
# been seen to get tensors without data.
_LOCK = threading.Lock()
_SEED = 0


def load_model(source: BaseSource, dtype: torch.dtype, attention: str | None = None) -> Any:
    """The base model (a transformers `PreTrainedModel`), on the CPU, in eval mode, frozen.

    Arguments:
        source: from `resolve_base`.
        dtype: of all weights. Those of `init: random` are drawn in float32 first, the same at every call.
        attention: an implementation known to transformers; None: the model's own choice.

    Raises:
        InputError: transformers does not know the model, weights are missing or of other shapes, or a weight
            is NaN or infinite (named).
    """
    with _LOCK, quiet():
        read = _draw if source.init == "random" else _read
        model = _fitted(source, read(source, dtype, attention)).eval().requires_grad_(False)
    _check_finite(source, model)
    return model


def load_tokenizer(source: BaseSource) -> PreTrainedTokenizerFast:
    """The base's fast tokenizer, with the study's chat template where it gives one.

    Raises:
        InputError: it cannot be read, has no fast form, or has more tokens than the model has rows.
    """
    from transformers import AutoTokenizer

    with _LOCK, quiet():
        try:
            tokenizer: Any = AutoTokenizer.from_pretrained(
                source.folder, trust_remote_code=source.trust_remote_code, local_files_only=True
            )
        except Exception as error:  # whatever a damaged tokenizer file makes of its reader
            raise _unreadable(source, "tokenizer", error) from error
    if getattr(tokenizer, "backend_tokenizer", None) is None:
        raise InputError(
            f"base {source.name}: the tokenizer in {source.folder} has no fast form: convert it and save it "
            f"as tokenizer.json beside the model."
        )
    _check_vocabulary(source, tokenizer)
    if source.chat_template is not None:
        tokenizer.chat_template = source.chat_template
    return tokenizer


def _read(source: BaseSource, dtype: torch.dtype, attention: str | None) -> Any:
    from transformers import AutoModelForCausalLM

    from octavo.models.dhara.load import TYPES, load_dhara

    if model_type(source.folder) in TYPES:
        return load_dhara(source.folder, dtype)
    loader: Any = AutoModelForCausalLM  # its annotations do not know of loading info
    try:
        model, info = loader.from_pretrained(
            source.folder,
            dtype=dtype,
            attn_implementation=attention,
            use_safetensors=True,
            trust_remote_code=source.trust_remote_code,
            local_files_only=True,
            output_loading_info=True,
        )
    except Exception as error:  # readers of damaged files raise all kinds of errors
        raise _unreadable(source, "model", error) from error
    # transformers fills in random numbers for what is missing and says so in a log line
    missing = sorted(info["missing_keys"])
    if missing:
        raise InputError(
            f"base {source.name}: {source.folder} lacks {len(missing)} weights that its config.json asks "
            f"for: {', '.join(missing[:5])}. Its files do not belong together, or "
            f"are not a causal language model."
        )
    return model


def model_type(folder: Path) -> str | None:
    """What a folder's config.json says the model is."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return config.get("model_type") if isinstance(config, dict) else None


def read_config(source: BaseSource) -> Any:
    """The base's config."""
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(
        source.folder, local_files_only=True, trust_remote_code=source.trust_remote_code
    )


def skeleton(source: BaseSource) -> nn.Module:
    """The base's modules with shapes and no data, from its config alone."""
    import torch
    from transformers import AutoModelForCausalLM

    with quiet(), torch.device("meta"):
        config = read_config(source)
        model: Any = AutoModelForCausalLM.from_config(config, trust_remote_code=source.trust_remote_code)
        model.tie_weights()
        return _fitted(source, model)


def _fitted(source: BaseSource, model: Any) -> Any:
    """The model with the attention that the study asks for, and a row for a mask token that had none."""
    known = hasattr(type(model.config), "attention_mode")
    if known or source.attention != "causal":
        # read by `octavo.lanes.pattern` and by models of ours; others' configs carry it along
        model.config.attention_mode, model.config.block_size = source.attention, source.block_size
        model.config.prediction = source.prediction
    if source.mask is not None:
        add_mask_row(model, source.mask)
    return model


def _draw(source: BaseSource, dtype: torch.dtype, attention: str | None) -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(_SEED)
        try:
            model = AutoModelForCausalLM.from_config(
                read_config(source),
                dtype=torch.float32,
                attn_implementation=attention,
                trust_remote_code=source.trust_remote_code,
            )
        except Exception as error:  # a config is data of the user's
            raise _unreadable(source, "model", error) from error
    for weight in model.parameters():  # not `model.to`: tables such as RoPE's frequencies stay in float32
        weight.data = weight.data.to(dtype)
    return model


def _unreadable(source: BaseSource, what: str, error: Exception) -> Exception:
    """The message for what transformers could not read; running out of memory stays what it is."""
    if isinstance(error, MemoryError | InputError):
        return error
    reason = " ".join(str(error).split())
    if "trust_remote_code" in reason:
        return InputError(
            f"base {source.name}: the {what} in {source.folder} needs Python code of its own. Read that "
            f"code; if you trust it, set `trust_remote_code: true` for this base."
        )
    return InputError(
        f"base {source.name}: transformers cannot read the {what} in {source.folder}: "
        f"{type(error).__name__}: {reason[:300]}"
    )


def _check_vocabulary(source: BaseSource, tokenizer: Any) -> None:
    config = json.loads((source.folder / "config.json").read_text(encoding="utf-8"))
    rows = config.get("vocab_size")
    highest = max(tokenizer.get_vocab().values(), default=0)
    if isinstance(rows, int) and highest >= rows:
        raise InputError(
            f"base {source.name}: the tokenizer in {source.folder} has the token {highest}, but the model "
            f"has only {rows} rows: they do not belong together."
        )


def _check_finite(source: BaseSource, model: Any) -> None:
    import torch

    for name, weight in model.named_parameters():
        if not bool(torch.isfinite(weight).all()):
            count = int((~torch.isfinite(weight)).sum())
            raise InputError(
                f"base {source.name}: {name} in {source.folder} has {count} values that are NaN or infinite, "
                f"so nothing trained on it could be right: get the model again."
            )
