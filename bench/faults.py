"""Faults on purpose: is each seen in time, named rightly, kept out of the weights, and are healthy runs left alone?

On the full embedded model, many short runs side by side: texts of 48 tokens, 60 steps, a constant learning
rate without warm-up. What is expected of each fault stands in `faults_expected.json`, written before the runs.
Thresholds were set (--calibrate) with other seeds and other texts. Last line: one JSON object.
    python bench/faults.py [--quick] [--record FILE] [--packs N] [--from-record]     # a long bench, in slices
    python bench/faults.py --calibrate [--record FILE] [--packs N]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harm.calibration import calibration
from harm.figures import comparison, figures, good, run_table
from harm.injections import FAULTS
from harm.judged import judged
from harm.record import Record
from harm.texts import CALIBRATION, FINAL
from harm.trials import Bed, Trial, harmed, healthy

from octavo.errors import InputError

HERE = Path(__file__).parent
EXPECTED = HERE / "faults_expected.json"
CALIBRATED = HERE / "faults_calibration.json"
STEPS = 60
RATES = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3)
# seeds of the final figures and of the calibration have nothing in common, nor have their texts
HEALTHY_SEEDS = tuple(range(101, 112))
HARMED_SEEDS = (201, 202)
CALIBRATION_SEEDS = (9001, 9002, 9003, 9004)
CALIBRATION_HARMED = (9101,)


@dataclass(frozen=True)
class Pack:
    """Runs that train side by side.

    Attributes:
        probe_every: steps between readings of the probe.
        rescued: they are trained by the trainer of studies, with `on_trip: rescue`, and how they end is kept.
    """

    name: str
    trials: Sequence[Trial]
    probe_every: int = 10
    rescued: bool = False


def plan(quick: bool, calibrate: bool, probe_every: int) -> list[Pack]:
    """The packs of a bench.

    Arguments:
        probe_every: of healthy runs; of harmed ones the probe is read at every step.
    """
    purpose = CALIBRATION if calibrate else FINAL
    seeds = CALIBRATION_SEEDS if calibrate else HEALTHY_SEEDS
    bad = CALIBRATION_HARMED if calibrate else HARMED_SEEDS
    if quick:
        seeds, bad = seeds[:2], bad[:1]
    kind = "calibration" if calibrate else "final"
    packs = [Pack(f"{kind} harmed {seed}", harmed(FAULTS, [seed], purpose), 1) for seed in bad]
    if not calibrate:
        names = [name for name, line in expected().items() if line["rescuable"]]
        saved = [fault for fault in FAULTS if fault.name in names]
        packs += [Pack(f"rescue {seed}", harmed(saved, [seed], purpose), rescued=True) for seed in bad]
    for start in range(0, len(seeds), 4):
        part = seeds[start : start + 4]
        name = f"{kind} healthy {part[0]}-{part[-1]} probe {probe_every}"
        packs.append(Pack(name, healthy(RATES, part, purpose), probe_every))
    return packs


def expected() -> dict[str, Any]:
    """The table of what is expected of each fault."""
    return json.loads(EXPECTED.read_text(encoding="utf-8"))


class Base:
    """The embedded model in the dtype that this machine multiplies fastest."""

    def __init__(self) -> None:
        from octavo.corpus.encode import Encoder
        from octavo.lanes.base import BaseModel
        from octavo.lanes.targets import resolve_targets
        from octavo.models.load import load_model, load_tokenizer
        from octavo.models.resolve import resolve_base
        from octavo.settings import Base as Section
        from octavo.training.device import pick_device, pick_dtype

        source = resolve_base(Section(), HERE)
        device = pick_device()
        self.encoder = Encoder(load_tokenizer(source))
        self.base = BaseModel(load_model(source, pick_dtype("auto", device)).to(device))
        self.targets = resolve_targets(self.base.model, "attention")

    def run(self, pack: Pack, record: Record) -> None:
        """Train a pack and keep what it comes to."""
        if pack.rescued:
            from harm.rescue import rescue

            from octavo.vitals.thresholds import Thresholds

            ended = rescue(self.base, self.encoder, self.targets, pack.trials, STEPS, Thresholds())
            record.add_rescue(
                pack.name, {name: vars(one) | {"saved": one.saved} for name, one in ended.items()}
            )
            return
        bed = Bed(self.base, self.encoder, self.targets, pack.trials, STEPS, pack.probe_every)
        record.add(pack.name, bed.run(lambda text: print(text, flush=True)))


def make(packs: Sequence[Pack], record: Record, most: int | None) -> bool:
    """Run the packs that the record lacks, at most so many; tells whether all are there."""
    lacking = [pack for pack in packs if pack.name not in {**record.packs, **record.rescues}]
    chosen = lacking if most is None else lacking[:most]
    base = Base() if chosen else None
    for pack in chosen:
        print(f"{pack.name}: {len(pack.trials)} runs", flush=True)
        assert base is not None
        base.run(pack, record)
    left = len(lacking) - len(chosen)
    if left:
        print(f"{left} of {len(packs)} packs are still to be run; the same command goes on", flush=True)
    return not left


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one run of each fault, ten healthy ones")
    parser.add_argument("--calibrate", action="store_true", help="measure what thresholds are set by")
    parser.add_argument(
        "--record", type=Path, help="traces are kept there, and those there are not made again"
    )
    parser.add_argument("--fresh", action="store_true", help="forget the traces of the record")
    parser.add_argument("--packs", type=int, help="run at most so many packs now (with --record)")
    parser.add_argument(
        "--probe-every", type=int, default=10, help="steps, of healthy runs (10, as in studies)"
    )
    parser.add_argument("--from-record", action="store_true", help="run nothing, print what is recorded")
    options = parser.parse_args()
    if (options.packs is not None or options.from_record) and options.record is None:
        parser.error("--packs and --from-record need --record FILE")
    return options


def main() -> int:
    """Run, judge, print."""
    options = parse()
    packs = plan(options.quick, options.calibrate, options.probe_every)
    record = Record(options.record, options.fresh)
    try:
        whole = make(packs, record, 0 if options.from_record else options.packs)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    if not whole:
        return 1
    traces = [one for pack in packs for one in record.packs.get(pack.name, [])]
    if options.calibrate:
        found = calibration(traces)
        CALIBRATED.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        print(json.dumps(found))
        return 0
    ended = [one for pack in packs for one in record.rescues.get(pack.name, {}).items()]
    return show(traces, dict(ended), options.quick)


def show(traces: Sequence[Any], ended: Mapping[str, Any], quick: bool) -> int:
    """Tables and the JSON line."""
    from octavo.vitals.thresholds import Thresholds

    hoped = expected()
    found = [judged(trace, Thresholds()) for trace in traces]
    print("\n" + run_table(found, hoped))
    for name, one in ended.items():
        what = "saved" if one["saved"] else "NOT saved"
        print(
            f"{name} under rescue: {what}, {one['state']}; probe {one['probe_rise']}; {'; '.join(one['events'])}"
        )
    print("\n" + comparison(found, hoped, VOCABULARY) + "\n")
    saved = sum(bool(one["saved"]) for one in ended.values())
    line = figures(found, hoped, VOCABULARY) | {"rescued": f"{saved}/{len(ended)}" if ended else None}
    print(json.dumps(line), flush=True)
    return 0 if good(line, quick) else 1


VOCABULARY = 49_152  # of the embedded model


if __name__ == "__main__":
    sys.exit(main())
