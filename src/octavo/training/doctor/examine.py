"""The whole examination: probes of all devices, what follows from them, and what a training would take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from octavo.errors import InputError
from octavo.training.allocator import EXPANDABLE, NAMES, allocator_settings, check_allocator_settings
from octavo.training.doctor import machine
from octavo.training.doctor.children import START, Probed, probe_device

DTYPES = ("float32", "bfloat16", "float16")
# the kernels by which a training attends, the fastest first
ORDER = ("varlen", "sdpa", "flash", "efficient", "math")
KERNELS = {"cpu": ("sdpa", "flash", "math", "eager"), "cuda": (*ORDER, "eager")}
ALLOCATOR = "allocator"
STOPS, NOTE = "stops training", "note"


@dataclass(frozen=True)
class Finding:
    """Something that a person should know.

    Attributes:
        level: STOPS or NOTE. mend: the command or setting that mends it, None where there is none.
    """

    level: str
    text: str
    mend: str | None = None


@dataclass
class Examination:
    """All that was found.

    Attributes:
        chosen: {device, dtype, kernel, allocator}: what a training takes here; None in place of what it has not.
        findings: the first are the gravest.
    """

    versions: dict[str, str | None]
    devices: list[Probed]
    chosen: dict[str, str | None]
    cache: dict[str, Any]
    compiler: dict[str, str | None]
    allocator: dict[str, dict[str, str]]
    findings: list[Finding] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Can a training run?"""
        return all(finding.level != STOPS for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {"ok": self.good, **asdict(self)}


Probe = Callable[[str, Sequence[str], Mapping[str, str], float], Probed]


def examine(
    environ: Mapping[str, str],
    cache_folder: Path,
    seconds: float = 60.0,
    probe: Probe = probe_device,
    root: Path = Path("/"),
) -> Examination:
    """Probe the CPU and the GPU, if there is one.

    Arguments:
        seconds: that a single probe may take.
        probe: tests have their own. root: where /proc and /sys are.
    """
    devices = [_probed("cpu", environ, seconds, probe), _probed("cuda", environ, seconds, probe)]
    found = Examination(
        versions=machine.versions(),
        devices=devices,
        chosen={},
        cache=machine.cache(cache_folder),
        compiler=machine.compiler(),
        allocator=allocator_settings(environ),
    )
    found.findings += [*_libraries(found.versions), *_allocator_refused(environ), *_of_cache(found.cache)]
    cpu, gpu = devices
    found.findings += _gpu_missing(gpu, environ, root)
    for device in devices:
        found.findings += _bad_results(device, environ)
    found.chosen = _choose(cpu, gpu, found.findings)
    if gpu.facts is not None:
        found.findings += _allocator(gpu, environ, seconds, probe, found.chosen)
    found.findings += _compiler(found.compiler)
    found.findings.sort(key=lambda finding: finding.level != STOPS)
    return found


def _probed(device: str, environ: Mapping[str, str], seconds: float, probe: Probe) -> Probed:
    names = [f"{kernel}:{dtype}" for dtype in DTYPES for kernel in KERNELS[device]]
    return probe(device, names, environ, seconds)


def _libraries(versions: Mapping[str, str | None]) -> list[Finding]:
    missing = [name for name, version in versions.items() if version is None]
    return [
        Finding(STOPS, f"not installed: {', '.join(missing)}", f"pip install {' '.join(missing)}")
    ] * bool(missing)


def _allocator_refused(environ: Mapping[str, str]) -> list[Finding]:
    try:
        check_allocator_settings(environ)
    except InputError as error:
        text, _, mend = str(error).partition("; ")
        return [Finding(STOPS, text, mend)]
    return []


def _of_cache(cache: Mapping[str, Any]) -> list[Finding]:
    folder = cache["folder"]
    if not cache["writable"]:
        return [Finding(STOPS, f"{folder} cannot be written to", "export OCTAVO_CACHE=FOLDER")]
    if not cache["bases"]:
        return [Finding(NOTE, f"{folder} holds no base model yet", "octavo base smollm2-135m-instruct")]
    return []


def _gpu_missing(gpu: Probed, environ: Mapping[str, str], root: Path) -> list[Finding]:
    """Cards that the system has and torch does not use."""
    amd, nvidia = machine.amd_architectures(root), machine.nvidia_cards(root)
    found = []
    seen = [(gpu.facts or {}).get("architecture"), *amd]
    if (gpu.build.get("hip") or amd) and any(machine.wants_override(name, environ) for name in seen):
        name = next(name for name in seen if machine.wants_override(name, environ))
        text = f"{name}: ROCm's libraries have no kernels under this name; it runs those of gfx1100 as well"
        found.append(Finding(NOTE, text, f"export {machine.OVERRIDE}={machine.OVERRIDE_VALUE}"))
    if gpu.facts is not None or any(result.probe == START for result in gpu.results):
        return found
    built = "ROCm" if gpu.build.get("hip") else "CUDA" if gpu.build.get("cuda") else "no GPU"
    install = "install a torch for it (https://pytorch.org/get-started/locally) and run make setup again"
    if nvidia and built != "CUDA":
        found.append(
            Finding(NOTE, f"there are {nvidia} NVIDIA GPUs; this torch is built for {built}", install)
        )
    elif amd and built != "ROCm":
        found.append(
            Finding(NOTE, f"there are AMD GPUs ({', '.join(amd)}); this torch is built for {built}", install)
        )
    elif nvidia or amd:
        hidden = [
            n for n in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES") if n in environ
        ]
        mend = f"unset {' '.join(hidden)}" if hidden else "look at the driver: nvidia-smi or rocminfo"
        found.append(Finding(NOTE, f"torch (built for {built}) sees none of the GPUs of this machine", mend))
    return found


def _bad_results(device: Probed, environ: Mapping[str, str]) -> list[Finding]:
    found = []
    for result in device.results:
        if not result.bad:
            continue
        if result.probe == START:
            gpu = device.device == "cuda"
            mend = "CUDA_VISIBLE_DEVICES= HIP_VISIBLE_DEVICES= octavo ..." if gpu else "make setup"
            what = "the GPU could not be made ready" if gpu else "torch could not be used"
            if gpu and not environ.get(machine.OVERRIDE) and device.build.get("hip"):
                mend = f"export {machine.OVERRIDE}={machine.OVERRIDE_VALUE} (gfx1101 to gfx1103), or {mend}"
            found.append(Finding(STOPS, f"{what}: {result.result}", mend))
            continue
        kernel, dtype = result.probe.split(":")
        found.append(Finding(NOTE, f"{device.device}: attention '{kernel}' in {dtype}: {result.result}"))
    return found


def _choose(cpu: Probed, gpu: Probed, findings: list[Finding]) -> dict[str, str | None]:
    """The device that training takes, its dtype and its attention; adds a finding where there is none."""
    device = gpu if gpu.facts is not None else cpu
    facts = device.facts or {}
    for dtype in dict.fromkeys((facts.get("fast_dtype", "float32"), "float32")):
        for kernel in ORDER:
            if device.result(f"{kernel}:{dtype}") == "ok":
                return {"device": facts.get("name"), "kind": device.device, "dtype": dtype, "kernel": kernel}
    if device.facts is not None:
        mend = (
            "CUDA_VISIBLE_DEVICES= HIP_VISIBLE_DEVICES= octavo ... (trains on the CPU)"
            if device is gpu
            else None
        )
        findings.append(
            Finding(STOPS, f"{facts.get('name')}: no attention kernel gives a right result", mend)
        )
    return {"device": facts.get("name"), "kind": device.device, "dtype": None, "kernel": None}


def _allocator(
    gpu: Probed, environ: Mapping[str, str], seconds: float, probe: Probe, chosen: dict[str, str | None]
) -> list[Finding]:
    """Try expandable segments where the user has decided nothing, and advise them where they work."""
    if allocator_settings(environ):
        return []
    setting = f"{EXPANDABLE}:True"
    name = _variable(gpu.build)
    result = probe("cuda", [ALLOCATOR], {**environ, **dict.fromkeys(NAMES, setting)}, seconds)
    if result.result(ALLOCATOR) == "ok":
        chosen["allocator"] = f"{name}={setting}"
        return [
            Finding(
                NOTE,
                "expandable segments work here: less memory is lost between tensors",
                f"export {name}={setting}",
            )
        ]
    why = next((r.result for r in result.results if r.bad), "absent")
    return [Finding(NOTE, f"{EXPANDABLE} does not work here ({why}): leave it off")]


def _variable(build: Mapping[str, Any]) -> str:
    """The name that this torch reads: the common one since 2.9."""
    parts = str(build.get("torch") or "0.0").split(".")
    if [int(part) for part in parts[:2] if part.isdigit()] >= [2, 9]:
        return NAMES[0]
    return NAMES[2] if build.get("hip") else NAMES[1]


def _compiler(found: Mapping[str, str | None]) -> list[Finding]:
    lacks = [
        name for name, path in (("a C++ compiler", found["cxx"]), ("Python.h", found["python_h"])) if not path
    ]
    if not lacks:
        return []
    text = f"{' and '.join(lacks)} missing: steps are not compiled and take about twice as long on a CPU"
    return [Finding(NOTE, text, "apt-get install g++ python3-dev")]
