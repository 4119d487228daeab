"""The token that stands for a hidden one: the base's own, else an unused one of its tokenizer, else a free row."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from octavo.errors import InputError

if TYPE_CHECKING:
    from octavo.models.resolve import BaseSource
    from octavo.settings import Base


@dataclass(frozen=True)
class MaskToken:
    """A mask token.

    Attributes:
        id: its row in the embedding. text: in the tokenizer; None where that has none.
        origin: where it was found, for people.
    """

    id: int
    text: str | None
    origin: str

    @property
    def said(self) -> str:
        """For people."""
        name = "" if self.text is None else f"{self.text}, "
        return f"hidden tokens are read as {name}id {self.id}: {self.origin}"


def settle_mask(base: Base, source: BaseSource) -> MaskToken:
    """The mask token of a base.

    Raises:
        InputError: `mask_token` names no token of the tokenizer, or one that ends or pads texts.
    """
    from octavo.models.load import load_tokenizer, read_config

    tokenizer = load_tokenizer(source)
    vocabulary = tokenizer.get_vocab()
    if base.mask_token is not None:
        return _named(base, tokenizer, vocabulary)
    config = read_config(source)
    own = (
        tokenizer.mask_token_id
        if tokenizer.mask_token_id is not None
        else getattr(config, "mask_token_id", None)
    )
    if own is not None:
        return MaskToken(int(own), _text(tokenizer, int(own)), "the base's own mask token")
    if unused := _unused(base, tokenizer):
        return MaskToken(*max(unused), "a special token that the chat template does not use")
    rows = int(config.get_text_config().vocab_size)
    free = max(vocabulary.values(), default=-1) + 1
    if free < rows:
        return MaskToken(free, None, "a row that the tokenizer does not use")
    return MaskToken(rows, None, "a new row, the mean of all others")


def _named(base: Base, tokenizer: Any, vocabulary: dict[str, int]) -> MaskToken:
    text = base.mask_token
    assert text is not None
    if text not in vocabulary:
        raise InputError(
            f"base {base.name}: `mask_token: {text}` is no token of its tokenizer; name one that is, or leave it out: "
            "one is found or made"
        )
    if vocabulary[text] in (tokenizer.eos_token_id, tokenizer.pad_token_id) or text in (base.eos, base.pad):
        raise InputError(
            f"base {base.name}: `mask_token: {text}` is the token that ends or pads texts, which has to be learned; "
            "name another, or leave it out"
        )
    return MaskToken(vocabulary[text], text, "named by the study")


def _unused(base: Base, tokenizer: Any) -> list[tuple[int, str]]:
    """Control tokens that neither the chat template nor the tokenizer has a use for."""
    template = tokenizer.chat_template
    shown = template if isinstance(template, str) else json.dumps(template, ensure_ascii=False)
    used = {base.eos, base.pad, *tokenizer.special_tokens_map.values()}
    return [
        (index, token.content)
        for index, token in tokenizer.added_tokens_decoder.items()
        if token.special and token.content not in used and token.content not in shown
    ]


def _text(tokenizer: Any, index: int) -> str | None:
    return tokenizer.convert_ids_to_tokens(index) if index < len(tokenizer) else None


def add_mask_row(model: Any, mask: MaskToken) -> None:
    """Give the model a row for a mask token that has none, in place: the mean of the others, in the head too.

    The tokens that a tokenizer knows keep their logits, so that an adapter trained so loads on the base as it is.
    """
    import torch

    weight = model.get_input_embeddings().weight
    if mask.id < weight.shape[0]:
        return
    tables = {
        id(weight): weight,
        id(model.get_output_embeddings().weight): model.get_output_embeddings().weight,
    }
    means = [table.detach().float().mean(0) for table in tables.values()]
    model.resize_token_embeddings(mask.id + 1, mean_resizing=False)
    grown = {}
    for layer in (model.get_input_embeddings(), model.get_output_embeddings()):
        grown[id(layer.weight)] = layer.weight
    with torch.no_grad():
        for table, mean in zip(grown.values(), means, strict=True):
            table[mask.id :] = mean.to(table.dtype)
