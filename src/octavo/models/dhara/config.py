"""Sizes and options of a Dhara model, under the keys of the published config.json files.

Two layouts of Canon layers have been published. "split" (Dhara): B is three convolutions on q, k and v, D stands on
the gated product, QK-norm is a head's and comes after RoPE. "joint" (Allen-Zhu 2025, LlamaCanon): B stands on q|k|v
together, D on gate|up before gating, QK-norm is of all heads' width and comes before B.
"""

from __future__ import annotations

from typing import Any, Literal

from transformers import PreTrainedConfig

from octavo.errors import InputError

AttentionMode = Literal["causal", "full", "block"]
Prediction = Literal["next", "same"]
LAYOUTS = ("split", "joint")


class DharaConfig(PreTrainedConfig):
    """Config of model type "dhara".

    Attributes:
        canon_set: which of the places A, B, C, D have a convolution. canon_layout: "split" or "joint".
        canon_kernel: taps, the row's own counted. canon_residual, canon_bias, canon_activation: of the convolution.
        attention_mode: what a row sees: those before it (causal), all (full), all of its block and of the blocks
            before it (block). May be set after loading. block_size: rows of a block, counted from position 0.
        prediction: does a row's logit speak of the next token or of the same? May be set after loading.
        use_logit_softcap, logit_softcap: logits become cap * tanh(logits / cap).
        rope_version: "huggingface" turns the halves of a head, "lingua" neighbouring pairs.
        inv_freq: RoPE's frequencies where a checkpoint brings its own, one list or one a layer; they win over
            `rope_theta`.
        mask_token_id: stands for a token that is hidden.

    Raises:
        InputError: a key asks for what is not known here.
    """

    model_type = "dhara"
    keys_to_ignore_at_inference = ["cache"]  # noqa: RUF012 - as the parent has it

    vocab_size: int = 50_304
    hidden_size: int = 384
    intermediate_size: int = 1024
    num_hidden_layers: int = 32
    num_attention_heads: int = 8
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    hidden_act: str = "silu"
    max_position_embeddings: int = 2048
    initializer_range: float = 0.02
    rms_norm_eps: float = 1e-6
    rope_theta: float = 10_000.0
    rope_version: str = "huggingface"
    attention_bias: bool = False
    mlp_bias: bool = False
    tie_word_embeddings: bool = True
    use_cache: bool = True
    use_qk_norm: bool = False
    use_logit_softcap: bool = False
    logit_softcap: float = 30.0
    canon_set: str = "AC"
    canon_layout: str = "split"
    canon_kernel: int = 4
    canon_residual: bool = True
    canon_bias: bool = False
    canon_activation: bool = False
    inv_freq: list[Any] | None = None
    attention_mode: str = "full"
    block_size: int = 32
    prediction: str = "same"
    mask_token_id: int | None = None
    pad_token_id: int | None = None
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        """Fill in what follows from other keys, and refuse what this model cannot do."""
        rope = kwargs.pop("rope_parameters", None) or kwargs.pop("rope_scaling", None) or {}
        if rope.get("rope_type", rope.get("type", "default")) != "default":
            raise InputError(f"config.json of a {self.model_type}: RoPE of type {rope} is not known here")
        self.rope_theta = float(rope.get("rope_theta", self.rope_theta))
        self.use_qk_norm = bool(kwargs.pop("qk_norm", self.use_qk_norm))
        self.num_key_value_heads = self.num_key_value_heads or self.num_attention_heads
        self.head_dim = self.head_dim or self.hidden_size // self.num_attention_heads
        self.canon_set = "".join(sorted(set(self.canon_set or "")))
        super().__post_init__(**kwargs)
        self._check()

    def _check(self) -> None:
        where = f"config.json of a {self.model_type}"
        known = {
            "canon_layout": LAYOUTS,
            "rope_version": ("huggingface", "lingua"),
            "attention_mode": ("causal", "full", "block"),
            "prediction": ("next", "same"),
        }
        for key, values in known.items():
            if getattr(self, key) not in values:
                raise InputError(f"{where}: {key} is {getattr(self, key)!r}; known are {', '.join(values)}")
        if set(self.canon_set) - set("ABCD"):
            raise InputError(f"{where}: canon_set {self.canon_set!r} is not of A, B, C, D")
        if getattr(self, "rope_dim", None) not in (None, self.head_dim):
            raise InputError(f"{where}: rope_dim, RoPE on a part of a head, is not known here")
        if self.canon_kernel < 1 or self.block_size < 1:
            raise InputError(f"{where}: canon_kernel and block_size are at least 1")

    @property
    def final_logit_softcapping(self) -> float | None:
        """The cap of the logits under transformers' name for it, None without one."""
        return self.logit_softcap if self.use_logit_softcap else None


class DharaArConfig(DharaConfig):
    """Model type "dhara_ar", with the sizes of dhara-250m for defaults."""

    model_type = "dhara_ar"

    vocab_size: int = 49_155
    hidden_size: int = 768
    intermediate_size: int = 2176
    num_attention_heads: int = 12
    num_key_value_heads: int | None = 4
    rope_theta: float = 8e6
    use_logit_softcap: bool = True
    canon_set: str = "ABCD"
    attention_mode: str = "causal"
    prediction: str = "next"


class LlamaCanonConfig(DharaConfig):
    """Model type "llama_canon": causal, joint layout."""

    model_type = "llama_canon"

    tie_word_embeddings: bool = False
    canon_set: str = ""
    canon_layout: str = "joint"
    attention_mode: str = "causal"
    prediction: str = "next"


CONFIGS: tuple[type[DharaConfig], ...] = (DharaConfig, DharaArConfig, LlamaCanonConfig)
