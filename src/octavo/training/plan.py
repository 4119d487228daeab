"""The memory plan: what the study will hold at its peak, and how many tokens a micro-step may have.

peak = base + lanes x 20 bytes x adapter parameters + activations(tokens of a micro-step) + head chunk + workspace.
The tokens of a micro-step are the only knob: lanes are split over micro-steps, never trained differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from octavo.errors import InputError
from octavo.lanes.loss import CHUNK_ROWS

# parameter, gradient and two moments in float32 (optimizer.py), and the last good parameters (loop.py); bfloat16
# bases add a copy for the products
BYTES_PER_ADAPTER_PARAMETER = 20
# more tokens than this a micro-step gain nothing: the products of the base are at full speed long before
MOST_TOKENS = 4096
# allocator slack and temporaries over the saved tensors, measured on the embedded model (CPU)
ACTIVATION_SLACK = 1.6
_STRATEGIES = {"batched": 4, "safe": 2}


@dataclass
class Plan:
    """What is decided before training and kept for the whole study.

    Attributes:
        lanes: runs trained side by side. base_parameters: of the frozen model.
        micro_step_tokens: most tokens of a micro-step.
        longest_example: tokens of the longest example of any run.
        predicted_bytes: parts of the peak, and their sum under "peak".
        limit_bytes: what the plan kept under.
        predicted_seconds: training time by the probe step, None before it.
        memory: `lanes.memory` as the study asked for it.
        device, versions: where training began, and with what.
        measured: peak_bytes and seconds, once training has ended.
    """

    lanes: int
    dtype: str
    base_parameters: int
    micro_step_tokens: int
    longest_example: int
    predicted_bytes: dict[str, int]
    limit_bytes: int
    memory: str | float | None = None
    predicted_seconds: float | None = None
    device: dict[str, Any] | None = None
    versions: dict[str, str] | None = None
    measured: dict[str, Any] = field(default_factory=lambda: {"peak_bytes": None, "seconds": None})

    @property
    def between_windows(self) -> int:
        """Bytes that may be held when no window is under way: what stays, and as much air as half a window."""
        parts = self.predicted_bytes
        return parts["base"] + parts["adapters"] + parts["activations"] // 2

    def to_json(self) -> dict[str, Any]:
        """As written to plan.json."""
        return asdict(self)


def lanes_for(strategy: str | int, runs: int) -> int:
    """Runs side by side: full (and auto) all, batched 4, safe 2, or a number."""
    wanted = strategy if isinstance(strategy, int) else _STRATEGIES.get(strategy, runs)
    return max(1, min(int(wanted), runs))


def activation_bytes_per_token(config: Any, dtype: torch.dtype, targets: Sequence[str]) -> int:
    """Bytes that one token leaves behind in the forward pass for the backward pass, by the tensors that it saves.

    Counted for pre-norm decoders with a gated MLP: two norms keep their input in float32 and their output, attention
    keeps q, k, v and its output (in float32 on a CPU), the MLP keeps gate, activated gate and up.
    """
    size = torch.empty(0, dtype=dtype).element_size()
    text = config.get_text_config()
    width, layers = int(text.hidden_size), int(text.num_hidden_layers)
    heads = int(text.num_attention_heads)
    head_width = int(getattr(text, "head_dim", None) or width // heads)
    kv = head_width * int(getattr(text, "num_key_value_heads", None) or heads)
    inner = int(getattr(text, "intermediate_size", None) or 4 * width)
    attention = 4 * (2 * heads * head_width + 2 * kv) + size * heads * head_width
    norms = 2 * (4 * width + size * width)
    mlp = 3 * size * inner
    if any(name.endswith(("down_proj", "c_proj")) and "attn" not in name for name in targets):
        mlp += size * inner
    return int(layers * (attention + norms + mlp) * ACTIVATION_SLACK)


def _size(count: int) -> str:
    """Bytes for people: 1.25 GiB, 640.00 MiB."""
    return f"{count / 2**30:.2f} GiB" if count >= 2**30 else f"{count / 2**20:.2f} MiB"


def make_plan(
    config: Any,
    dtype: torch.dtype,
    base_parameters: int,
    adapter_parameters: int,
    targets: Sequence[str],
    lanes: int,
    longest_example: int,
    limit_bytes: int,
) -> Plan:
    """Predict the peak and choose the tokens of a micro-step.

    Arguments:
        base_parameters: numbers of the frozen weights, tied ones once.
        adapter_parameters: numbers of one lane's padded adapter.
        limit_bytes: memory that may be used, the base included.

    Raises:
        InputError: base, adapters and one longest example do not fit; says how much is missing.
    """
    text = config.get_text_config()
    size = torch.empty(0, dtype=dtype).element_size()
    per_parameter = BYTES_PER_ADAPTER_PARAMETER + (0 if dtype == torch.float32 else size)
    base_bytes = base_parameters * size
    adapters = lanes * per_parameter * adapter_parameters
    # a chunk of logits in the base's dtype, in float32, and its gradient
    head = CHUNK_ROWS * int(text.vocab_size) * (2 * size + 8)
    per_token = activation_bytes_per_token(config, dtype, targets)
    room = limit_bytes - base_bytes - adapters - head
    tokens = min(MOST_TOKENS, room // per_token)
    if tokens < longest_example:
        missing = longest_example * per_token - room
        raise InputError(
            f"the study does not fit into memory: base, {lanes} adapters and one example of {longest_example} "
            f"tokens need {_size(missing)} more than the {_size(limit_bytes)} of lanes.memory; "
            "lower train.max_length, "
            "train.lora.rank or lanes.strategy, or raise lanes.memory"
        )
    parts = {"base": base_bytes, "adapters": adapters, "activations": int(tokens * per_token), "head": head}
    parts["peak"] = sum(parts.values())
    return Plan(
        lanes=lanes,
        dtype=str(dtype).removeprefix("torch."),
        base_parameters=base_parameters,
        micro_step_tokens=int(tokens),
        longest_example=longest_example,
        predicted_bytes=parts,
        limit_bytes=limit_bytes,
    )
