"""Base models of the Hugging Face hub: configuration, tokenizer and safetensors, nothing that runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.errors import InputError
from octavo.models.cache import writing
from octavo.models.quiet import quiet

if TYPE_CHECKING:
    from octavo.study import Base

HUB_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?")
_DESCRIPTION = ["*.json", "*.jinja", "*.txt", "tokenizer.model", "spiece.model"]


def hub_folder(base: Base) -> Path:
    """The snapshot of a hub model in the hub's own cache, downloaded if need be.

    Raises:
        InputError: no such model or revision, no access, no network, or huggingface_hub is missing.
        MachineError: the disk is full.
    """
    try:
        from huggingface_hub import constants, snapshot_download
    except ImportError as error:
        raise InputError(
            f"base {base.name}: {base.model!r} is no folder here; to take it from the hub, install "
            f"the extra: pip install 'octavo[hub]'."
        ) from error
    wanted = list(_DESCRIPTION)
    wanted += ["*.safetensors"] if base.init == "pretrained" else []
    wanted += ["*.py"] if base.trust_remote_code else []
    with writing(Path(constants.HF_HUB_CACHE)), quiet():
        try:
            # folders inside a repository hold the same model for other programs (onnx, original, ...)
            found = snapshot_download(
                base.model, revision=base.revision, allow_patterns=wanted, ignore_patterns=["*/*"]
            )
        except Exception as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # the disk's, not the hub's
            raise InputError(_message(base, error)) from error
    return Path(found)


def _message(base: Base, error: Exception) -> str:
    revision = f" at revision {base.revision}" if base.revision else ""
    reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return (
        f"base {base.name}: {base.model!r}{revision} is no folder here and could not be had from the hub "
        f"({reason}). Check the name and the network, sign in (`hf auth login`) if the model asks for it, or "
        f"download it elsewhere and give its folder."
    )
