"""The tokenizer of a GGUF file, with the pre-tokenizer that the file declares.

A GGUF names its pre-tokenizer in `tokenizer.ggml.pre`; the scheme behind a name is defined by llama.cpp.
transformers restores the schemes it knows and falls back to plain byte level for the others, which cuts
spaces and newlines before a digit in another way than in the model's training.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from octavo.models.quiet import quiet

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

# llama.cpp gives these names one scheme: every number character alone, then GPT-2's byte level.
DIGITS_THEN_BYTE_LEVEL = frozenset(
    {"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"}
)


def declared_pre_tokenizer(path: Path) -> str | None:
    """The name in `tokenizer.ggml.pre`, or None where the file has none."""
    from gguf import GGUFReader

    field = GGUFReader(path).get_field("tokenizer.ggml.pre")
    return None if field is None else str(field.contents())


def load_gguf_tokenizer(path: Path) -> PreTrainedTokenizerFast:
    """The fast tokenizer of a GGUF file, its declared pre-tokenizer restored.

    Names that neither transformers nor the table above knows keep what transformers made of them.
    """
    from transformers import AutoTokenizer

    with quiet(stderr=True):
        tokenizer: Any = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    restore_pre_tokenizer(tokenizer, declared_pre_tokenizer(path))
    return tokenizer


def restore_pre_tokenizer(tokenizer: PreTrainedTokenizerFast, declared: str | None) -> None:
    """Give `tokenizer` the scheme named `declared`, in place, if it is one that transformers loses."""
    from tokenizers import pre_tokenizers

    if declared in DIGITS_THEN_BYTE_LEVEL:
        tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
            ]
        )
