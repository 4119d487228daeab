"""A base model's name in the study file, resolved to a folder on this machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.errors import InputError
from octavo.models.cache import build_once, cache_dir, file_sha256
from octavo.models.dhara.builtin import BUILTIN, builtin_folder
from octavo.models.embedded import EMBEDDED, embedded_folder
from octavo.models.hub import HUB_ID, hub_folder
from octavo.models.mask_token import MaskToken, settle_mask

if TYPE_CHECKING:
    from octavo.study import Base

_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
_TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer.model",
    "spiece.model",
    "vocab.json",
    "vocab.txt",
    "tekken.json",
)


@dataclass(frozen=True)
class BaseSource:
    """A base model ready to load.

    Arguments:
        name: as the study names it.
        folder: a transformers folder: config.json, safetensors, tokenizer.
        init: "pretrained", or "random": weights drawn from the config alone.
        trust_remote_code: may code of the folder run?
        chat_template: the text of a template that replaces the folder's own, or None.
        attention, block_size, prediction: who attends to whom, and of which token a logit speaks.
        mask: the token that stands for a hidden one; None under an objective that hides none.
    """

    name: str
    folder: Path
    init: str = "pretrained"
    trust_remote_code: bool = False
    chat_template: str | None = None
    attention: str = "causal"
    block_size: int = 32
    prediction: str = "next"
    mask: MaskToken | None = None


def resolve_base(base: Base, study_dir: Path) -> BaseSource:
    """Find, download or convert a base model: embedded name, folder, .gguf file or hub id.

    Arguments:
        base: the base's section of the study.
        study_dir: relative paths start here.

    Raises:
        InputError: it is not to be had, or the folder lacks something; says what and what to do.
        MachineError: the disk is full.
    """
    folder = _folder(base, study_dir)
    _check(base, folder)
    template = _template(base, study_dir)
    source = BaseSource(
        base.name,
        folder,
        base.init,
        base.trust_remote_code,
        template,
        base.attention,
        base.block_size or 32,
        base.prediction,
    )
    return source if base.objective == "causal" else replace(source, mask=settle_mask(base, source))


def _folder(base: Base, study_dir: Path) -> Path:
    model = base.model
    if model in EMBEDDED:
        return embedded_folder(model)
    if model in BUILTIN:
        return builtin_folder(model)
    path = study_dir / Path(model).expanduser()
    if path.is_dir():
        return path
    if path.is_file():
        return _converted(base, path)
    if model.endswith(".gguf") or model.startswith((".", "~", "/", "\\")) or not HUB_ID.fullmatch(model):
        raise InputError(
            f"base {base.name}: there is no {path}. `model:` takes {_names()}, a folder, a .gguf file or "
            f"a hub id."
        )
    return hub_folder(base)


def _converted(base: Base, path: Path) -> Path:
    """The folder in the cache made of a GGUF file, named after the file's content."""
    from octavo.models.gguf_convert import CONVERSION, convert_gguf

    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise InputError(f"base {base.name}: {path} is no GGUF file: give a .gguf file or a folder.")
    folder = cache_dir() / "bases" / f"gguf-{file_sha256(path)[:24]}-v{CONVERSION}"
    return build_once(folder, lambda temporary: convert_gguf(path, temporary))


def _check(base: Base, folder: Path) -> None:
    where = f"base {base.name}: {folder}"
    if (folder / "adapter_config.json").is_file():
        raise InputError(f"{where} holds an adapter, not a base model: give the base that it was trained on.")
    if not (folder / "config.json").is_file():
        ggufs = sorted(path.name for path in folder.glob("*.gguf"))
        hint = f" Name the file itself: {folder / ggufs[0]}" if ggufs else ""
        raise InputError(f"{where} has no config.json, so it is no transformers model.{hint}")
    if not any((folder / name).is_file() for name in _TOKENIZER_FILES):
        raise InputError(f"{where} has no tokenizer (tokenizer.json): save the base's tokenizer there.")
    if base.init == "pretrained" and not any(folder.glob("*.safetensors")):
        pickles = sorted(path.name for pattern in _PICKLES for path in folder.glob(pattern))
        if pickles:
            raise InputError(
                f"{where} has its weights only as {', '.join(pickles[:3])}, a format that can run code when "
                f"it is read: save the model as safetensors (`model.save_pretrained(folder)`)."
            )
        raise InputError(
            f"{where} has no *.safetensors (other files of weights are not taken from the hub): put the "
            f"weights there, or set `init: random`."
        )


def _template(base: Base, study_dir: Path) -> str | None:
    """`chat_template:` is the template itself, or a file that holds it."""
    given = base.chat_template
    if given is None or "{{" in given or "{%" in given:
        return given
    path = study_dir / Path(given).expanduser()
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(
            f"base {base.name}: `chat_template: {given[:80]}` is neither a Jinja template nor a file that "
            f"can be read ({error})."
        ) from error


def _names() -> str:
    return ", ".join([*EMBEDDED, *BUILTIN])
