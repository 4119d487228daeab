"""The tokenizer of a model as a GGUF keeps it: a byte-level BPE's tokens, merges, and the name of its first cut."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from octavo.errors import InputError

if TYPE_CHECKING:
    from gguf import GGUFWriter

# llama.cpp knows schemes of cutting text before the merges by name (llama-vocab.cpp); the patterns are those that the
# models' own tokenizer.json files hold
_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_BY_PATTERN = {
    _WORDS + r"\p{N}" + _REST: "qwen2",
    _WORDS + r"\p{N}{1,3}" + _REST: "llama-bpe",
}


def first_cut(tokenizer: Any) -> str | None:
    """llama.cpp's name of how this tokenizer cuts text before merging; None where it has none that is known here."""
    scheme = json.loads(tokenizer.backend_tokenizer.to_str())
    if scheme["model"]["type"] != "BPE" or scheme["model"].get("byte_fallback"):
        return None
    before = scheme.get("pre_tokenizer") or {}
    parts = before.get("pretokenizers", [before])
    kinds = [part.get("type") for part in parts]
    if kinds[-1:] != ["ByteLevel"] or parts[-1].get("add_prefix_space"):
        return None
    if kinds == ["ByteLevel"]:
        return "gpt-2" if parts[0].get("use_regex", True) else None
    if kinds == ["Digits", "ByteLevel"]:
        both = parts[0].get("individual_digits") and parts[1].get("use_regex", True)
        return "smollm" if both else None
    if kinds == ["Split", "ByteLevel"] and not parts[1].get("use_regex", True):
        return _BY_PATTERN.get(parts[0]["pattern"].get("Regex", ""))
    return None


def add_vocabulary(writer: GGUFWriter, tokenizer: Any, rows: int) -> None:
    """Write tokens, their kinds, merges, special tokens and the chat template.

    Arguments:
        rows: of the embedding; ids that no token has are written as unused.

    Raises:
        InputError: the tokenizer is none that `first_cut` knows.
    """
    import gguf

    name = first_cut(tokenizer)
    if name is None:
        raise InputError(
            "this tokenizer has no form in a GGUF that octavo can write (byte-level BPE of the GPT-2, SmolLM, Qwen2 or "
            "Llama 3 kind); export with --merge and convert the folder with llama.cpp's convert_hf_to_gguf.py"
        )
    model = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    texts = {index: text for text, index in tokenizer.get_vocab().items()}
    added = tokenizer.added_tokens_decoder
    kinds = []
    for index in range(rows):
        if index not in texts:
            kinds.append(gguf.TokenType.UNUSED)
        elif index in added:
            kinds.append(gguf.TokenType.CONTROL if added[index].special else gguf.TokenType.USER_DEFINED)
        else:
            kinds.append(gguf.TokenType.NORMAL)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(name)
    writer.add_token_list([texts.get(index, f"[UNUSED{index}]") for index in range(rows)])
    writer.add_token_types(kinds)
    # older files keep a merge as "a b", newer ones as a pair
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in model["merges"]])
    for role in ("bos", "eos", "unk", "pad"):
        index = getattr(tokenizer, f"{role}_token_id")
        if index is not None:
            getattr(writer, f"add_{role}_token_id")(index)
    begins = tokenizer.backend_tokenizer.encode("", add_special_tokens=True).ids
    writer.add_add_bos_token(tokenizer.bos_token_id is not None and tokenizer.bos_token_id in begins)
    if isinstance(tokenizer.chat_template, str):
        writer.add_chat_template(tokenizer.chat_template)
