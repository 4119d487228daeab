"""Token ids of text in which nothing is a control token, whatever it looks like."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Literal

from octavo.errors import InputError

# Where a run of text stands: at the very beginning, after a control token, after text it must not merge with.
Place = Literal["first", "after_control", "after_text"]


class TextIds:
    """Turns runs of text into ids with the tokenizer's own rules, control tokens in the text kept as text.

    Tokenizers that put a space before a text (SentencePiece's way) do so only where they would have done it
    in the whole text.
    """

    def __init__(self, tokenizer: Any):
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise InputError(
                "The base's tokenizer has no fast form (tokenizer.json), which label spans need: convert it "
                "with transformers and save it beside the model."
            )
        self.control_ids = frozenset(i for i, t in tokenizer.added_tokens_decoder.items() if t.special)
        self._unknown = tokenizer.unk_token_id
        whole = backend.to_str()
        self._backends: dict[Place, Any] = {"first": _text_only(whole)}
        self._backends["after_control"] = self._without_prefix(whole, ("first",))
        self._backends["after_text"] = self._without_prefix(whole, ("first", "always"))
        # the same headers and system turns come back in every conversation
        self._cached = lru_cache(maxsize=4096)(self._ids)

    def __call__(self, text: str, place: Place = "after_control") -> tuple[int, ...]:
        """The ids of `text`."""
        return self._cached(text, place)

    def offsets(self, text: str, place: Place) -> list[tuple[int, int]]:
        """The characters of `text` that each of its ids stands for, [begin, end)."""
        return self._backends[place].encode(text, add_special_tokens=False).offsets

    def _ids(self, text: str, place: Place) -> tuple[int, ...]:
        ids = self._backends[place].encode(text, add_special_tokens=False).ids
        for i in ids:
            if i in self.control_ids and i != self._unknown:
                raise InputError(
                    f"The tokenizer makes the control token {i} of plain text ({text[:40]!r}...), so the "
                    f"text cannot be told from the template: take it out."
                )
        return tuple(ids)

    def _without_prefix(self, whole: str, schemes: tuple[str, ...]) -> Any:
        document = json.loads(whole)
        if not _drop_prefix(document, schemes):
            return self._backends["first"]
        return _text_only(json.dumps(document))


def _text_only(document: str) -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(document)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


def _drop_prefix(document: dict[str, Any], schemes: tuple[str, ...]) -> bool:
    """Take out, in place, the rules that put a space before a text; says whether there were any.

    Arguments:
        schemes: "first" for rules about the beginning of the text, "always" for those about every piece.
    """
    changed = False
    for node in _nodes(document.get("pre_tokenizer"), "pretokenizers"):
        if node["type"] == "Metaspace" and node.get("prepend_scheme", "always") in schemes:
            node["prepend_scheme"] = "never"
            changed = True
        if node["type"] == "ByteLevel" and node.get("add_prefix_space") and "always" in schemes:
            node["add_prefix_space"] = False
            changed = True
    for node in _nodes(document.get("normalizer"), "normalizers"):
        if node["type"] == "Prepend" and "always" in schemes:
            node["prepend"] = ""
            changed = True
    return changed


def _nodes(node: dict[str, Any] | None, inner: str) -> list[dict[str, Any]]:
    if node is None:
        return []
    return [node, *(found for child in node.get(inner, []) for found in _nodes(child, inner))]
