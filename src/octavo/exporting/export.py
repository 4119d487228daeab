"""A run merged into its base, written for another program, read back and compared."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from octavo.corpus.encode import Encoder
from octavo.errors import InputError, OctavoError
from octavo.exporting.gguf_file import check_exportable, write_gguf
from octavo.models.cache import writing
from octavo.models.gguf_tokenizer import load_gguf_tokenizer
from octavo.models.load import load_model, load_tokenizer
from octavo.models.quiet import quiet
from octavo.models.resolve import resolve_base
from octavo.speaking.named import Named

TEXT = (
    "Octavo asked: what are 7 and 35 together?\nThe answer, written out, is forty-two (42). naïve façade 世界"
)
# largest gap between the written model's logits and the run's, in units of the largest logit, that is rounding of
# the written weights; merging adds in float32
TOLERANCE = {"float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}


@dataclass(frozen=True)
class Exported:
    """What was written.

    Attributes:
        path: of it. format: "folder" or "gguf". dtype: of the weights. bytes: of all files.
        logit_gap: largest difference of its logits, read back, from those of the run on its base in float32, in
            units of the largest of these.
        same_tokens: whether its tokenizer, read back, cuts the test sentence as the base's does.
    """

    path: str
    format: str
    dtype: str
    bytes: int
    logit_gap: float
    same_tokens: bool

    def in_words(self) -> str:
        """For a person."""
        return (
            f"{self.bytes / 1e6:.0f} MB in {self.dtype}; read back, its logits are within {self.logit_gap:.2g} of the "
            "run's, in units of the largest"
        )


def export_run(named: Named, to: Path, form: Literal["folder", "gguf"], dtype: str) -> Exported:
    """Merge and write; nothing appears under `to` unless it has been read back and found right.

    Raises:
        InputError: `to` is there already or cannot be written; the base or the adapter is not to be had; the
            architecture or tokenizer has no place in a GGUF.
        MachineError: the disk is full.
    """
    to = to.expanduser().absolute()
    if to.exists():
        raise InputError(f"{to}: is there already; name another place")
    source = resolve_base(named.base, named.directory)
    tokenizer = load_tokenizer(source)
    model = load_model(source, torch.float32)
    if form == "gguf":
        check_exportable(model.config, tokenizer)
    ids = Encoder(tokenizer, None, named.base.eos, named.base.pad).tokenizer.encode(
        TEXT, add_special_tokens=False
    )
    model = _merged(model, named)
    expected_TV = _logits(model, ids)
    with writing(to), quiet():
        to.parent.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(prefix=f".{to.name[:60]}-", dir=to.parent))
        try:
            written = place / to.name
            _round(model, dtype)
            if form == "gguf":
                write_gguf(written, model, tokenizer, dtype, named.name)
            else:
                model.to(getattr(torch, dtype)).save_pretrained(written)
                tokenizer.save_pretrained(written)
            del model
            found = _compare(written, form, dtype, ids, expected_TV)
            written.rename(to)
        finally:
            shutil.rmtree(place, ignore_errors=True)
    return Exported(str(to), form, dtype, _size(to), *found)


def _merged(model: Any, named: Named) -> Any:
    """The base with the run's change in its weights, in float32, by `peft`."""
    if named.adapter is None:
        return model
    from peft import PeftModel

    with quiet():
        try:
            adapted = PeftModel.from_pretrained(model, str(named.adapter))
            return adapted.merge_and_unload(safe_merge=True)
        except OctavoError:
            raise
        except Exception as error:  # readers of damaged adapters raise all kinds of errors
            reason = " ".join(str(error).split())[:300]
            raise InputError(
                f"{named.adapter}: peft cannot merge it into {named.base.model}: {reason}"
            ) from error


@torch.no_grad()
def _logits(model: Any, ids: list[int]) -> Tensor:
    """Logits [T, V] of a sequence, in float32."""
    return model(input_ids=torch.tensor([ids])).logits[0].float()


def _round(model: Any, dtype: str) -> None:
    """Refuse weights that the written dtype cannot hold."""
    kind = getattr(torch, dtype)
    for name, weight in model.named_parameters():
        if not bool(torch.isfinite(weight.data.to(kind)).all()):
            raise InputError(
                f"{name}: has values that are not finite in {dtype}; choose --dtype bfloat16 or float32, or check the "
                "run with `octavo check`"
            )


def _compare(written: Path, form: str, dtype: str, ids: list[int], expected_TV: Tensor) -> tuple[float, bool]:
    """(gap of the logits, whether the tokens are the same) of what was written.

    Raises:
        InputError: it says something else than the run.
    """
    read: dict[str, Callable[[Path], tuple[Any, Any]]] = {"gguf": _read_gguf, "folder": _read_folder}
    model, tokenizer = read[form](written)
    same = tokenizer.encode(TEXT, add_special_tokens=False) == ids
    gap = float((_logits(model, ids) - expected_TV).abs().max() / expected_TV.abs().max())
    if not gap <= TOLERANCE[dtype] or not same:
        raise InputError(
            f"what was written does not speak as the run does (logits differ by {gap:.2g} of the largest, tokens "
            f"{'are the same' if same else 'differ'}), so it was thrown away; this architecture cannot be exported "
            f"as {form}"
        )
    return gap, same


def _read_folder(folder: Path) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True)
    return model.eval(), AutoTokenizer.from_pretrained(folder, local_files_only=True)


def _read_gguf(path: Path) -> tuple[Any, Any]:
    from octavo.models.gguf_convert import read_gguf

    with quiet(stderr=True):
        model: Any = read_gguf(path)
    return model.eval(), load_gguf_tokenizer(path)


def _size(path: Path) -> int:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)
