"""A model of the Llama family as one GGUF file, by the `gguf` library: llama.cpp and Ollama read it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from octavo.errors import InputError
from octavo.exporting.gguf_vocabulary import add_vocabulary, first_cut

if TYPE_CHECKING:
    from gguf import GGUFWriter

# transformers' model type: llama.cpp's architecture. Its "llama" turns neighbouring numbers of a head together, where
# transformers turns number i with i + half, so that rows of q and k are written in another order
_ARCHITECTURES = {"llama": "llama", "mistral": "llama", "qwen2": "qwen2"}
_KINDS = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}


def check_exportable(config: Any, tokenizer: Any) -> None:
    """Raise InputError, with what to do instead, for what has no place in the files written here."""
    kind = config.model_type
    rope = (getattr(config, "rope_parameters", None) or {}).get("rope_type", "default")
    reason = None
    if kind not in _ARCHITECTURES:
        reason = f"the architecture '{kind}' (octavo writes {', '.join(_ARCHITECTURES)})"
    elif rope != "default":
        reason = f"a model whose RoPE is scaled ({rope})"
    elif getattr(config, "mlp_bias", False) or (kind != "qwen2" and getattr(config, "attention_bias", False)):
        reason = "linear layers with biases that llama.cpp's loader does not expect"
    elif first_cut(tokenizer) is None:
        reason = "this tokenizer (octavo writes byte-level BPE of the GPT-2, SmolLM, Qwen2 and Llama 3 kinds)"
    if reason:
        raise InputError(
            f"--gguf: cannot write {reason}; export with --merge and convert the folder with llama.cpp's "
            "convert_hf_to_gguf.py"
        )


def write_gguf(path: Path, model: Any, tokenizer: Any, dtype: str, name: str) -> None:
    """Write a merged model.

    Arguments:
        dtype: of matrices; norms and biases stay in float32. name: shown by programs that load it.

    Raises:
        InputError: a tensor that llama.cpp has no name for.
    """
    import gguf

    config = model.config
    architecture = _ARCHITECTURES[config.model_type]
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name(name)
    writer.add_file_type(
        {
            "float32": gguf.LlamaFileType.ALL_F32,
            "float16": gguf.LlamaFileType.MOSTLY_F16,
            "bfloat16": gguf.LlamaFileType.MOSTLY_BF16,
        }[dtype]
    )
    _add_sizes(writer, config)
    add_vocabulary(writer, tokenizer, int(config.vocab_size))
    kind = next(key for key, value in gguf.MODEL_ARCH_NAMES.items() if value == architecture)
    names = gguf.get_tensor_name_map(kind, config.num_hidden_layers)
    for key, weight in model.state_dict().items():
        if key == "lm_head.weight" and config.tie_word_embeddings:
            continue
        known = names.get_name(key, try_suffixes=(".weight", ".bias"))
        if known is None:
            raise InputError(f"--gguf: llama.cpp has no name for the tensor {key}; export with --merge")
        _add_tensor(writer, known, _in_order(key, weight.detach().float(), config), dtype)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_sizes(writer: GGUFWriter, config: Any) -> None:
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer.add_vocab_size(config.vocab_size)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(head)
    writer.add_value_length(head)
    writer.add_rope_dimension_count(head)
    writer.add_rope_freq_base(float(config.rope_parameters["rope_theta"]))
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)


def _in_order(key: str, weight: Tensor, config: Any) -> Tensor:
    """A tensor as llama.cpp's architecture wants its rows."""
    heads = {
        "q_proj.weight": config.num_attention_heads,
        "k_proj.weight": config.num_key_value_heads,
    }.get(".".join(key.split(".")[-2:]))
    if heads is None or _ARCHITECTURES[config.model_type] != "llama":
        return weight
    rows, width = weight.shape
    return weight.view(heads, 2, rows // heads // 2, width).transpose(1, 2).reshape(rows, width)


def _add_tensor(writer: GGUFWriter, name: str, weight: Tensor, dtype: str) -> None:
    import gguf

    if weight.ndim == 1 or dtype == "float32":
        writer.add_tensor(name, weight.contiguous().numpy())
        return
    kind = gguf.GGMLQuantizationType[_KINDS[dtype]]
    # numpy has no bfloat16: its bytes go as they are
    raw = weight.to(getattr(torch, dtype)).contiguous().view(torch.uint8).numpy()
    writer.add_tensor(name, raw, raw_dtype=kind)
