"""Merged folders and GGUF files say what the run says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from peft import PeftModel
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)
from typer.testing import CliRunner, Result

from octavo.cli import app
from octavo.exporting.gguf_vocabulary import first_cut
from octavo.models.load import load_model, load_tokenizer
from octavo.models.quiet import quiet
from octavo.models.resolve import BaseSource
from tests.lanes.tiny import SIZES
from tests.models.makers import space_tokenizer, tiny_tokenizer
from tests.speaking.conftest import write_adapter

IDS = list(range(20, 60))


def command(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, prog_name="octavo")


def logits(model: object) -> torch.Tensor:
    with torch.no_grad():
        return model(input_ids=torch.tensor([IDS])).logits.float()  # type: ignore[operator]


def adapted(base: BaseSource, adapter: Path) -> torch.Tensor:
    """Logits of the adapter on its base, not merged."""
    with quiet():
        return logits(PeftModel.from_pretrained(load_model(base, torch.float32), str(adapter)).eval())


@pytest.fixture(scope="module")
def adapter(tiny: BaseSource, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_adapter(tiny, tmp_path_factory.mktemp("export") / "one", 1)


def base_of(folder: Path, kind: str, tokenizer: object, **changes: object) -> BaseSource:
    """A random tiny base of another family, with a tokenizer."""
    torch.manual_seed(0)
    sizes = SIZES | {"vocab_size": len(tokenizer), "tie_word_embeddings": True} | changes  # type: ignore[arg-type]
    made = {"llama": (LlamaConfig, LlamaForCausalLM), "qwen2": (Qwen2Config, Qwen2ForCausalLM)}[kind]
    with quiet():
        made[1](made[0](**sizes)).save_pretrained(folder)
        tokenizer.save_pretrained(folder)  # type: ignore[attr-defined]
    return BaseSource(kind, folder)


def test_a_merged_folder_is_the_run_to_plain_transformers(
    tiny: BaseSource, adapter: Path, tmp_path: Path
) -> None:
    result = command("export", str(adapter), str(tmp_path / "m"), "--merge", "--dtype", "float32", "--json")
    assert result.exit_code == 0, result.stderr
    with quiet():
        model = AutoModelForCausalLM.from_pretrained(tmp_path / "m")
        tokenizer = AutoTokenizer.from_pretrained(tmp_path / "m")
    assert model.dtype == torch.float32
    assert torch.allclose(logits(model), adapted(tiny, adapter), atol=1e-5)
    assert not torch.allclose(logits(model), logits(load_model(tiny, torch.float32)), atol=1e-2)
    assert tokenizer.chat_template == load_tokenizer(tiny).chat_template
    done = json.loads(result.stdout)
    assert (done["format"], done["dtype"], done["same_tokens"]) == ("folder", "float32", True)
    assert done["logit_gap"] < 1e-5
    assert done["bytes"] == sum(f.stat().st_size for f in (tmp_path / "m").iterdir())


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("kind", ["llama", "qwen2", "untied"])
def test_a_gguf_read_by_transformers_is_the_run(kind: str, dtype: str, tmp_path: Path) -> None:
    if kind == "untied":
        base = base_of(tmp_path / "base", "llama", tiny_tokenizer(), tie_word_embeddings=False)
    else:
        base = base_of(tmp_path / "base", kind, tiny_tokenizer())
    adapter = write_adapter(base, tmp_path / "a", 3)
    to = tmp_path / "run.gguf"
    result = command("export", str(adapter), str(to), "--gguf", "--dtype", dtype)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.strip() == str(to)
    with quiet(stderr=True):
        model = AutoModelForCausalLM.from_pretrained(tmp_path, gguf_file="run.gguf", dtype=torch.float32)
    expected = adapted(base, adapter)
    gap = (logits(model) - expected).abs().max() / expected.abs().max()
    assert gap < {"float32": 1e-5, "float16": 5e-3, "bfloat16": 4e-2}[dtype]


def test_a_gguf_is_a_base_for_octavo_again(tiny: BaseSource, adapter: Path, tmp_path: Path) -> None:
    to = tmp_path / "run.gguf"
    assert command("export", str(adapter), str(to), "--gguf", "--dtype", "float32").exit_code == 0
    asked = ["--prompt", "Ann has 12 apples", "--max-tokens", "8"]
    again, own = command("generate", str(to), *asked), command("generate", str(adapter), *asked)
    assert (again.exit_code, again.stdout) == (0, own.stdout)


def test_nothing_is_left_where_the_export_was_refused(
    tiny: BaseSource, adapter: Path, tmp_path: Path
) -> None:
    (tmp_path / "there").mkdir()
    broken = write_adapter(tiny, tmp_path / "broken", 1, size=float("nan"))
    huge = write_adapter(tiny, tmp_path / "huge", 1, size=400.0)
    before = sorted(tmp_path.iterdir())
    for arguments, said in [
        ([str(adapter), str(tmp_path / "there"), "--merge"], "is there already"),
        ([str(adapter), str(tmp_path / "x")], "say one of --merge"),
        ([str(adapter), str(tmp_path / "x"), "--merge", "--gguf"], "say one of --merge"),
        ([str(broken), str(tmp_path / "x"), "--merge"], "NaNs detected"),
        ([str(huge), str(tmp_path / "x"), "--merge", "--dtype", "float16"], "not finite in float16"),
        ([str(adapter), str(tmp_path / "x"), "--merge", "--base", "smollm9"], "smollm9"),
        ([str(adapter), str(tmp_path / "broken" / "adapter_config.json" / "x"), "--merge"], "Cannot write"),
    ]:
        result = command("export", *arguments)
        assert result.exit_code == 2, (arguments, result.output)
        assert said in " ".join(result.stderr.split()), result.stderr
        assert "Traceback" not in result.output
    assert sorted(tmp_path.iterdir()) == before


def test_what_a_gguf_cannot_hold_is_refused_before_work_is_done(tmp_path: Path) -> None:
    base = base_of(tmp_path / "spaces", "llama", space_tokenizer())
    result = command("export", str(base.folder), str(tmp_path / "x.gguf"), "--gguf")
    assert (result.exit_code, "convert_hf_to_gguf" in result.stderr) == (2, True), result.stderr
    scaled = {"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0}
    base = base_of(tmp_path / "scaled", "llama", tiny_tokenizer(), rope_parameters=scaled)
    result = command("export", str(base.folder), str(tmp_path / "x.gguf"), "--gguf")
    assert (result.exit_code, "RoPE is scaled" in result.stderr) == (2, True), result.stderr
    assert not (tmp_path / "x.gguf").exists()


def test_the_first_cut_of_a_tokenizer_is_named_as_llama_cpp_names_it() -> None:
    from tokenizers import Regex, pre_tokenizers

    tokenizer = tiny_tokenizer()
    assert first_cut(tokenizer) == "smollm"
    words = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
    cut = words + r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    for pattern, name in [
        (cut, "qwen2"),
        (cut.replace(r"|\p{N}|", r"|\p{N}{1,3}|"), "llama-bpe"),
        (r"\s+", None),
    ]:
        tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(pattern), behavior="isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        assert first_cut(tokenizer) == name
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    assert first_cut(tokenizer) == "gpt-2"
    assert first_cut(space_tokenizer()) is None
