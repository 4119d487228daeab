"""A packed decoder for the Llama family: transformers' weights and linear layers, our order of the work.

The linear layers are called as the modules they are (adapters, quantised weights and hooks stay in place); what lies
between them runs in fused passes with backward passes by hand, and attention a sequence at a time. Held equal to the
model's own forward pass by tests and by the check at load.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from octavo.lanes.kernels import NARROWEST, Kernels, kernels_for
from octavo.lanes.native_attention import attend_packed
from octavo.lanes.native_ops import AddNorm, Norm, SwiGlu
from octavo.lanes.pack import Pack

# decoders whose layers are: norm, q k v, RoPE, attention, o, norm, gate up, SiLU, down
FAMILIES = ("LlamaModel", "MistralModel", "Qwen2Model")


def native_decoder(decoder: nn.Module, config: Any) -> NativeDecoder | None:
    """The native decoder of a model, None where it is built otherwise."""
    if not is_native(type(decoder), config):
        return None
    return NativeDecoder(decoder, kernels_for(int(config.get_text_config().hidden_size)))


def is_native(decoder_class: type, config: Any) -> bool:
    """Has a decoder of this class and config a native one? No weights are needed to say so."""
    text = config.get_text_config()
    known = decoder_class.__name__ in FAMILIES and decoder_class.__module__.startswith("transformers.")
    if not known or getattr(text, "hidden_act", None) not in ("silu", "swish"):
        return False
    # eager chains in float32 are slower than the model's own, but where it is so small that nothing counts
    width = int(text.hidden_size)
    return width < NARROWEST or kernels_for(width).compiled


class NativeDecoder:
    """Reads packs through the layers of a Llama-like `decoder`.

    Attributes:
        kernels: eager or compiled.
    """

    def __init__(self, decoder: Any, kernels: Kernels) -> None:
        self.decoder, self.kernels = decoder, kernels
        self._bypassed = list(self._not_called())

    def _not_called(self) -> Iterator[nn.Module]:
        yield self.decoder
        yield self.decoder.norm
        for layer in self.decoder.layers:
            yield from (layer, layer.self_attn, layer.mlp, layer.input_layernorm)
            yield from (layer.post_attention_layernorm, layer.mlp.act_fn)

    @property
    def hooked(self) -> bool:
        """Has somebody put a hook on a module that would not be called? Then the model's own pass must run."""
        return any(
            m._forward_hooks or m._forward_pre_hooks or m._backward_hooks or m._backward_pre_hooks
            for m in self._bypassed
        )

    def __call__(self, pack: Pack) -> Tensor:
        """Last hidden states [T, H] of a pack without a cache; to be called inside `use_pack`."""
        decoder, kernels = self.decoder, self.kernels
        x = decoder.embed_tokens(pack.ids_T)
        cos_1TD, sin_1TD = decoder.rotary_emb(x[None], position_ids=pack.positions_T[None])
        cos_TD, sin_TD = cos_1TD[0].contiguous(), sin_1TD[0].contiguous()
        branch: Tensor | None = None
        for layer in decoder.layers[: decoder.config.num_hidden_layers]:
            x, h = self._normed(x, branch, layer.input_layernorm)
            attention = layer.self_attn
            q, k, v = attention.q_proj(h), attention.k_proj(h), attention.v_proj(h)
            window = getattr(attention, "sliding_window", None)
            if window is None and type(decoder).__name__ == "MistralModel":
                window = decoder.config.sliding_window
            if window is not None:
                pack.windows.add(window)
            mixed = attend_packed(
                q, k, v, cos_TD, sin_TD, pack, attention.head_dim, attention.scaling, window, kernels
            )
            x, h = self._normed(x, attention.o_proj(mixed), layer.post_attention_layernorm)
            mlp = layer.mlp
            branch = mlp.down_proj(SwiGlu.apply(mlp.gate_proj(h), mlp.up_proj(h), kernels))
        return self._normed(x, branch, decoder.norm)[1]

    def _normed(self, x: Tensor, branch: Tensor | None, layer: Any) -> tuple[Tensor, Tensor]:
        """The stream with `branch` added and its norm."""
        weight, eps = layer.weight, layer.variance_epsilon
        if branch is None:
            return x, Norm.apply(x, weight, eps, self.kernels)
        return AddNorm.apply(x, branch, weight, eps, self.kernels)
