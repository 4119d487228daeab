"""Dhara: a small decoder with Canon convolutions that reads causally, in full, or block by block.

Letters: B sequences, T rows, W width of the stream, H heads, G key heads, D width of a head, V vocabulary.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedModel
from transformers.cache_utils import DynamicCache
from transformers.generation import GenerationMixin
from transformers.modeling_outputs import BaseModelOutputWithPast, CausalLMOutputWithPast
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from octavo.lanes.pack import current_pack
from octavo.lanes.pattern import additive
from octavo.models.dhara.canon import Canon, PositionTaps, Taps
from octavo.models.dhara.config import DharaArConfig, DharaConfig, LlamaCanonConfig
from octavo.models.dhara.masks import positions_of, visible_rows
from octavo.models.dhara.pack_taps import taps_of_pack


class RMSNorm(nn.Module):
    """Root mean square norm, worked out in float32."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """Of the last dimension."""
        found = x.float()
        found = found * torch.rsqrt(found.square().mean(-1, keepdim=True) + self.eps)
        return self.weight * found.to(x.dtype)


def _canon(config: DharaConfig, place: str, channels: int, key: str) -> Canon | None:
    """The convolution of a place, None where the config has none there."""
    if place not in config.canon_set:
        return None
    return Canon(
        channels, config.canon_kernel, key, config.canon_residual, config.canon_bias, config.canon_activation
    )


class DharaAttention(nn.Module):
    """Grouped-query attention; see `config` for what differs between the layouts."""

    def __init__(self, config: DharaConfig, layer_idx: int) -> None:
        super().__init__()
        self.config, self.layer_idx = config, layer_idx
        self.head_dim = config.head_dim or 0
        self.scaling = self.head_dim**-0.5
        heads, groups = config.num_attention_heads, config.num_key_value_heads or config.num_attention_heads
        self.num_key_value_groups = heads // groups
        self.widths = [heads * self.head_dim, groups * self.head_dim, groups * self.head_dim]
        width, bias = config.hidden_size, config.attention_bias
        self.q_proj = nn.Linear(width, self.widths[0], bias=bias)
        self.k_proj = nn.Linear(width, self.widths[1], bias=bias)
        self.v_proj = nn.Linear(width, self.widths[2], bias=bias)
        self.o_proj = nn.Linear(self.widths[0], width, bias=bias)
        self.joint = config.canon_layout == "joint"
        if config.use_qk_norm:
            sizes = self.widths[:2] if self.joint else [self.head_dim] * 2
            self.q_norm, self.k_norm = (RMSNorm(size, config.rms_norm_eps) for size in sizes)
        if self.joint:
            self.canon_b = _canon(config, "B", sum(self.widths), f"{layer_idx}.b")
        else:
            for name, size in zip("qkv", self.widths, strict=True):
                setattr(self, f"canon_b_{name}", _canon(config, "B", size, f"{layer_idx}.b_{name}"))

    def forward(
        self, x_BTW: Tensor, turn: Turn, mask: Tensor | None, taps: Taps, cache: Any, **kwargs: Any
    ) -> Tensor:
        """[B, T, W]."""
        parts = self._convolved([self.q_proj(x_BTW), self.k_proj(x_BTW), self.v_proj(x_BTW)], taps)
        q, k, v = (part.unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for part in parts)
        q, k = turn(q), turn(k)
        if self.config.use_qk_norm and not self.joint:
            q, k = self.q_norm(q), self.k_norm(k)
        if cache is not None:
            k, v = cache.update(k, v, self.layer_idx)
        attend = ALL_ATTENTION_FUNCTIONS.get_interface(self.config._attn_implementation, eager_attention)
        out, _ = attend(self, q, k, v, mask, dropout=0.0, scaling=self.scaling, is_causal=False, **kwargs)
        return self.o_proj(out.flatten(2))

    def _convolved(self, parts: list[Tensor], taps: Taps) -> list[Tensor]:
        if not self.joint:
            canons = [getattr(self, f"canon_b_{name}") for name in "qkv"]
            return [
                part if canon is None else canon(part, taps)
                for part, canon in zip(parts, canons, strict=True)
            ]
        if self.config.use_qk_norm:
            parts = [self.q_norm(parts[0]), self.k_norm(parts[1]), parts[2]]
        if self.canon_b is None:
            return parts
        return list(self.canon_b(torch.cat(parts, dim=-1), taps).split(self.widths, dim=-1))


def eager_attention(
    module: nn.Module, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scaling: float, **_: Any
) -> tuple[Tensor, Tensor]:
    """Attention written out; `mask` is boolean, true where a row sees a row."""
    groups = int(module.num_key_value_groups)  # type: ignore[arg-type]
    k, v = k.repeat_interleave(groups, dim=1), v.repeat_interleave(groups, dim=1)
    scores = q @ k.transpose(2, 3) * scaling
    if mask is not None:
        scores = scores + additive(mask, scores.dtype)
    weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
    return (weights @ v).transpose(1, 2), weights


class DharaMLP(nn.Module):
    """SwiGLU; D stands on gate|up before gating (joint), or on their product (split)."""

    def __init__(self, config: DharaConfig, layer_idx: int) -> None:
        super().__init__()
        width, inner = config.hidden_size, config.intermediate_size
        self.gate_proj = nn.Linear(width, inner, bias=config.mlp_bias)
        self.up_proj = nn.Linear(width, inner, bias=config.mlp_bias)
        self.down_proj = nn.Linear(inner, width, bias=config.mlp_bias)
        self.joint = config.canon_layout == "joint"
        self.canon_d = _canon(config, "D", inner * (2 if self.joint else 1), f"{layer_idx}.d")

    def forward(self, x_BTW: Tensor, taps: Taps) -> Tensor:
        """[B, T, W]."""
        gate, up = self.gate_proj(x_BTW), self.up_proj(x_BTW)
        if self.joint and self.canon_d is not None:
            gate, up = self.canon_d(torch.cat([gate, up], dim=-1), taps).chunk(2, dim=-1)
        product = F.silu(gate) * up
        if not self.joint and self.canon_d is not None:
            product = self.canon_d(product, taps)
        return self.down_proj(product)


class DharaDecoderLayer(nn.Module):
    """Norm, A, attention; norm, C, MLP; each with its residual."""

    def __init__(self, config: DharaConfig, layer_idx: int) -> None:
        super().__init__()
        width = config.hidden_size
        self.input_layernorm = RMSNorm(width, config.rms_norm_eps)
        self.post_attention_layernorm = RMSNorm(width, config.rms_norm_eps)
        self.self_attn = DharaAttention(config, layer_idx)
        self.mlp = DharaMLP(config, layer_idx)
        self.canon_a = _canon(config, "A", width, f"{layer_idx}.a")
        self.canon_c = _canon(config, "C", width, f"{layer_idx}.c")

    def forward(
        self, x_BTW: Tensor, turn: Turn, mask: Tensor | None, taps: Taps, cache: Any, **kwargs: Any
    ) -> Tensor:
        """[B, T, W]."""
        read = self.input_layernorm(x_BTW)
        if self.canon_a is not None:
            read = self.canon_a(read, taps)
        x_BTW = x_BTW + self.self_attn(read, turn, mask, taps, cache, **kwargs)
        read = self.post_attention_layernorm(x_BTW)
        if self.canon_c is not None:
            read = self.canon_c(read, taps)
        return x_BTW + self.mlp(read, taps)


class Turn:
    """RoPE at given positions; `pairs` turns neighbouring numbers of a head, else number i with i + D / 2.

    Arguments:
        positions_BT: of the rows. frequencies_F: D / 2 of them, float32.
    """

    def __init__(self, positions_BT: Tensor, frequencies_F: Tensor, pairs: bool) -> None:
        angles = positions_BT[:, None, :, None].float() * frequencies_F
        self.cos, self.sin, self.pairs = angles.cos(), angles.sin(), pairs

    def __call__(self, x_BHTD: Tensor) -> Tensor:
        """The turned heads, in the input's dtype."""
        x = x_BHTD.float()
        if self.pairs:
            one, other = x[..., 0::2], x[..., 1::2]
        else:
            one, other = x.chunk(2, dim=-1)
        turned = one * self.cos - other * self.sin, one * self.sin + other * self.cos
        whole = torch.stack(turned, dim=-1).flatten(-2) if self.pairs else torch.cat(turned, dim=-1)
        return whole.to(x_BHTD.dtype)


class DharaCache(DynamicCache):
    """Keys and values, and beside them the last inputs of every convolution."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.canon_inputs: dict[str, Tensor] = {}

    def reorder_cache(self, beam_idx: Any) -> None:
        """Beams go on from others."""
        super().reorder_cache(beam_idx)
        self.canon_inputs = {
            key: rows.index_select(0, beam_idx.to(rows.device)) for key, rows in self.canon_inputs.items()
        }


class DharaPreTrainedModel(PreTrainedModel):
    """What transformers wants to know of the family."""

    config_class = DharaConfig
    base_model_prefix = "model"
    _no_split_modules = ["DharaDecoderLayer"]  # noqa: RUF012 - as the parent has it
    _supports_sdpa = True
    _supports_attention_backend = True

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, RMSNorm):
            module.weight.data.fill_(1.0)
        elif isinstance(module, nn.Linear | nn.Embedding | nn.Conv1d):
            module.weight.data.normal_(std=self.config.initializer_range)
            bias = getattr(module, "bias", None)
            if isinstance(bias, Tensor):
                bias.data.zero_()


class DharaModel(DharaPreTrainedModel):
    """The decoder."""

    def __init__(self, config: DharaConfig) -> None:
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        layers = [DharaDecoderLayer(config, number) for number in range(config.num_hidden_layers)]
        self.layers = nn.ModuleList(layers)
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.post_init()

    def get_input_embeddings(self) -> nn.Embedding:
        """The embedding."""
        return self.embed_tokens

    def frequencies(self, layer: int, device: torch.device) -> Tensor:
        """RoPE's frequencies of a layer, [D / 2] in float32: the checkpoint's own where it brought some."""
        given = self.config.inv_freq
        if given is not None:
            own = given[layer] if isinstance(given[0], list) else given
            return torch.tensor(own, dtype=torch.float32, device=device)
        steps = torch.arange(0, self.config.head_dim, 2, device=device).float() / self.config.head_dim
        return 1.0 / self.config.rope_theta**steps

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        cache: Any = None,
        inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        **_: Any,
    ) -> BaseModelOutputWithPast:
        """Last hidden states.

        Arguments:
            attention_mask: [B, S], 0 for padding. position_ids: [B, T]; positions that do not count on from one row
                to the next begin another sequence, which sees nothing of the one before, convolutions included.
        """
        x_BTW = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds
        if use_cache and cache is None:
            cache = DharaCache(config=self.config)
        earlier = 0 if cache is None else int(cache.get_seq_length())
        if position_ids is None:
            position_ids = positions_of(attention_mask, x_BTW.shape[:2], earlier, x_BTW.device)
        taps, mask = self._context(position_ids, attention_mask, cache, earlier)
        pairs = self.config.rope_version == "lingua"
        turn: Turn | None = None
        for number, layer in enumerate(self.layers):
            if turn is None or (
                self.config.inv_freq is not None and isinstance(self.config.inv_freq[0], list)
            ):
                turn = Turn(position_ids, self.frequencies(number, x_BTW.device), pairs)
            x_BTW = layer(x_BTW, turn, mask, taps, cache)
        found: Any = BaseModelOutputWithPast  # its fields are not annotated
        return found(last_hidden_state=self.norm(x_BTW), cache=cache)

    def _context(
        self, position_ids: Tensor, padding: Tensor | None, cache: Any, earlier: int
    ) -> tuple[Taps, Tensor | None]:
        """What lies before each row: for the convolutions, and as a mask where attention wants one."""
        kernel, pack = self.config.canon_kernel, current_pack()
        if pack is not None:
            return taps_of_pack(pack, kernel), None
        if cache is not None and not hasattr(cache, "canon_inputs"):
            cache.canon_inputs = {}
        taps = PositionTaps(position_ids, kernel, cache, keep=cache is not None)
        rows = earlier + position_ids.shape[1]
        whole_BS = position_ids
        if padding is not None and padding.dim() == 2:
            whole_BS = positions_of(padding, torch.Size((padding.shape[0], rows)), 0, padding.device)
        elif earlier:
            whole_BS = torch.arange(rows, device=position_ids.device).expand(position_ids.shape[0], rows)
        config = self.config
        seen = visible_rows(
            whole_BS, position_ids.shape[1], config.attention_mode, config.block_size, padding
        )
        return taps, seen


class DharaForCausalLM(DharaPreTrainedModel, GenerationMixin):
    """The decoder with its head; `prediction` of the config says which position a row's logits speak of."""

    _tied_weights_keys = {"lm_head.weight": "model.embed_tokens.weight"}  # noqa: RUF012 - as the parent has it

    def __init__(self, config: DharaConfig) -> None:
        super().__init__(config)
        self.model = DharaModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        cache: Any = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int = 0,
        **kwargs: Any,
    ) -> CausalLMOutputWithPast:
        """Logits [B, T, V] (of the last `logits_to_keep` rows); with `labels` [B, T] the mean loss, -100 left out."""
        found = self.model(input_ids, attention_mask, position_ids, cache, inputs_embeds, use_cache, **kwargs)
        logits_BTV = self.lm_head(found.last_hidden_state[:, -logits_to_keep:])
        if (cap := self.config.final_logit_softcapping) is not None:
            logits_BTV = cap * torch.tanh(logits_BTV / cap)
        loss = None
        if labels is not None:
            shift = 1 if self.config.prediction == "next" else 0
            rows = logits_BTV[:, : logits_BTV.shape[1] - shift].float()
            loss = F.cross_entropy(rows.flatten(0, 1), labels[:, shift:].flatten())
        made: Any = CausalLMOutputWithPast
        return made(loss=loss, logits=logits_BTV, cache=found.cache)


class DharaArForCausalLM(DharaForCausalLM):
    """Model type "dhara_ar"."""

    config_class = DharaArConfig


class LlamaCanonForCausalLM(DharaForCausalLM):
    """Model type "llama_canon"."""

    config_class = LlamaCanonConfig


MODELS: tuple[type[DharaForCausalLM], ...] = (DharaForCausalLM, DharaArForCausalLM, LlamaCanonForCausalLM)
