"""Fit the step-time constants to a table of measured latencies, with errors on rows not seen; optionally write the presets."""

from __future__ import annotations

import argparse
import multiprocessing
import pickle
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import table
from numpy.typing import NDArray

import simcore.presets as presets
from simcore.calibration.choose import choose, usual_options
from simcore.calibration.cross import Fitted, calibrate, medians
from simcore.calibration.fit import NAMES, active, constants_at, log_errors
from simcore.calibration.runs import Deployment, Run
from simcore.calibration.user import fitted_lines
from simcore.errors import InputError
from simcore.quantization.kv_bytes import heads_per_gpu
from simcore.roofline.constants import DEFAULT, Constants, load_constants, match_constants

Errors = NDArray[np.float64]
LEAST_RUNS = table.LEAST_ROWS
SOURCE = (
    "experiments/05_calibration, fitted to a public table of measured closed-loop serving latencies (NVIDIA, Apache-2.0, 2026)"
)
PRESETS = Path(presets.__file__).parent / "constants"
CLIFF = 3.0
"""A capacity cliff: TTFT grows by this factor, or more, when concurrency doubles."""


@dataclass
class Found:
    """One unit's fit and its errors from others' constants."""

    unit: table.Unit
    fitted: Fitted
    seconds: float
    default: Errors | None = None
    model: Errors | None = None
    gpu: Errors | None = None
    shipped: Errors | None = None

    @property
    def dense(self) -> bool:
        return self.unit.model in table.DENSE


def possible(run: Run) -> bool:
    """Whether the model can be divided as the row says."""
    try:
        heads_per_gpu(run.model, run.parallel.tp)
    except InputError:
        return False
    return True


def fit_unit(item: tuple[table.Unit, list[Run]]) -> Found:
    unit, runs = item
    start, base = time.process_time(), load_constants(DEFAULT)
    deployment = choose(runs, base, usual_options(unit.family), Deployment())
    return Found(unit, calibrate(runs, deployment, base), time.process_time() - start)


def constants_of(found: Found) -> Constants:
    """The set a unit would ship."""
    unit, base = found.unit, load_constants(DEFAULT)
    known = {NAMES[k] for k in active(found.fitted.runs)} | {"step_s", "mfu"}
    update = {"preset": "-".join(unit), "gpu": unit.gpu, "family": unit.family, "model": unit.model}
    unknown = {name: None for name in ("mfu_fp8", "mfu_fp4") if name not in known}
    runs = len(found.fitted.runs)
    return constants_at(found.fitted.theta, base).model_copy(update={**update, **unknown, "measured_runs": runs})


def cross_groups(all_found: Sequence[Found]) -> None:
    """Errors of each unit with the defaults, and with what would be taken for it if its group had not been measured."""
    base = load_constants(DEFAULT)
    good = [f for f in all_found if not f.fitted.faults]
    for found in all_found:
        runs, deployment = found.fitted.runs, found.fitted.deployment
        found.default = log_errors(runs, deployment, base)
        others = [constants_of(f) for f in good if f.unit.group != found.unit.group]
        model, gpu = runs[0].model, runs[0].gpu
        match = match_constants(gpu, found.unit.family, model, among=others)
        found.shipped = log_errors(runs, deployment, match.constants)
        found.model = found.shipped if match.kind == "another model" else None
        elsewhere = match_constants(gpu, found.unit.family, model, among=[c for c in others if c.gpu != found.unit.gpu])
        if elsewhere.kind == "similar hardware":
            found.gpu = log_errors(runs, deployment, elsewhere.constants)


def pooled(errors: Iterable[Errors | None]) -> tuple[float, float]:
    kept = [e for e in errors if e is not None]
    return medians(np.concatenate(kept)) if kept else (float("nan"), float("nan"))


def percent(pair: tuple[float, float]) -> str:
    return " | ".join("" if np.isnan(x) else f"{100 * x:.0f}" for x in pair)


def unit_table(all_found: Sequence[Found]) -> None:
    print("| model | GPU | engine | version | rows | client | KV | fitted TTFT | TPOT | unseen TTFT | TPOT | verdict |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for found in all_found:
        fitted, d = found.fitted, found.fitted.deployment
        packets = f", packets of {d.stream_interval}" if d.stream_interval > 1 else ""
        client = f"{d.client}{packets}{'' if d.chunked_prefill else ', prompts first'}"
        cells = [*found.unit, len(fitted.runs), client, d.kv_format, percent(medians(fitted.errors))]
        print(
            "| " + " | ".join(map(str, [*cells, percent(medians(fitted.unseen)), "; ".join(fitted.faults) or "ships"])) + " |"
        )


def summary(all_found: Sequence[Found], left: dict[bool, int]) -> None:
    print("| rows | share | unseen TTFT median % | TPOT | left-out group TTFT | TPOT | defaults TTFT | TPOT |")
    print("|---|---|---|---|---|---|---|---|")
    for dense in (True, False):
        of_kind = [f for f in all_found if f.dense == dense]
        rows = sum(len(f.fitted.runs) for f in of_kind) + left[dense]
        for what in ("explained", "all"):
            kept = [f for f in of_kind if what == "all" or not f.fitted.faults]
            unseen = [f.fitted.unseen for f in kept]
            n = sum(map(len, unseen))
            if what == "all":  # rows that could not be fitted at all count as infinitely wrong
                unseen, n = [*unseen, np.full((left[dense], 2), 50.0)], rows
            errors = [percent(pooled(x)) for x in (unseen, [f.shipped for f in kept], [f.default for f in kept])]
            kind = "dense" if dense else "mixtures"
            print(f"| {kind}, {what} ({n}) | {100 * n / rows:.0f} % | {' | '.join(errors)} |")


def _sweep(found: Found, k: int) -> tuple[tuple[int, int, int], str, str]:
    """What runs of one sweep of concurrency have in common."""
    run = found.fitted.runs[k]
    return run.cell, run.weight_format, str(run.parallel)


def cliffs(all_found: Sequence[Found]) -> None:
    """Places where the measured TTFT jumps, and whether ours jumps there, or somewhere else too."""
    counts = {True: [0, 0, 0], False: [0, 0, 0]}
    for found in all_found:
        if found.fitted.faults:
            continue
        runs = found.fitted.runs
        order = sorted(range(len(runs)), key=lambda k: (_sweep(found, k), found.fitted.runs[k].concurrency))
        for a, b in pairwise(order):
            if _sweep(found, a) != _sweep(found, b) or not 1 < runs[b].concurrency / runs[a].concurrency <= 2:
                continue
            theirs = runs[b].ttft_s / runs[a].ttft_s  # type: ignore[operator]
            ours = theirs * np.exp(found.fitted.unseen[b, 0] - found.fitted.unseen[a, 0])
            tally = counts[found.dense]
            tally[0] += theirs >= CLIFF
            tally[1] += theirs >= CLIFF and ours >= CLIFF / 1.5
            tally[2] += ours >= CLIFF * 1.5 and theirs < CLIFF / 1.5
    least, false_from = CLIFF / 1.5, CLIFF * 1.5
    slack = f"x {least:g} counts as predicted, a false one is x {false_from:g} where less than x {least:g} was measured"
    print(f"\nCliffs (TTFT x {CLIFF:g} or more as concurrency doubles), on rows left out of the fit, sets that ship; {slack}:")
    for dense, (there, met, false) in counts.items():
        print(
            f"{'dense' if dense else 'mixtures'}: {there} measured, {met} of them predicted; {false} predicted where none is."
        )


def write(all_found: Sequence[Found], date: str) -> None:
    """Replace the shipped sets by these."""
    good = [f for f in all_found if not f.fitted.faults]
    transfer = {
        (dense, name): pooled(getattr(f, name) for f in all_found if f.dense == dense)
        for dense in (True, False)
        for name in ("model", "gpu")
    }
    for old in PRESETS.glob("*.yaml"):
        if old.stem != DEFAULT:
            old.unlink()
    taken: set[str] = set()
    for found in sorted(good, key=lambda f: -len(f.fitted.runs)):
        unit, fitted = found.unit, found.fitted
        name = f"{unit.gpu}-{unit.family}-{unit.model}"
        if name in taken:
            name += "-" + re.sub(r"[^\w.]+", "-", unit.version.split("+")[0])
        taken.add(name)
        ttft, tpot = medians(fitted.unseen)
        by_model, by_gpu = transfer[found.dense, "model"], transfer[found.dense, "gpu"]
        spec, d = fitted.runs[0].model, fitted.deployment
        lines = [f"gpu: {unit.gpu}", f"family: {unit.family}", f"model: {unit.model}"]
        if unit.version != "unnamed":
            lines.append(f'version: "{unit.version}"')
        lines += fitted_lines(fitted)
        lines += [f"ttft_error: {ttft:.3f}", f"tpot_error: {tpot:.3f}"]
        lines += [f"model_ttft_error: {by_model[0]:.3f}", f"model_tpot_error: {by_model[1]:.3f}"]
        lines += [f"gpu_ttft_error: {by_gpu[0]:.3f}", f"gpu_tpot_error: {by_gpu[1]:.3f}"]
        lines += [f"measured_runs: {len(fitted.runs)}", f"measured_model: {spec.name}", f"clients: {d.client}"]
        lines += [f"source: {SOURCE}", f"date: {date}"]
        (PRESETS / f"{name}.yaml").write_text("\n".join(lines) + "\n")
    ttft, tpot = pooled(f.default for f in all_found)
    text = (PRESETS / f"{DEFAULT}.yaml").read_text()
    text = re.sub(r"^t[pt][of]t_error: .*\n", "", text, flags=re.M)
    (PRESETS / f"{DEFAULT}.yaml").write_text(text + f"ttft_error: {ttft:.3f}\ntpot_error: {tpot:.3f}\n")
    print(f"\n{len(good)} sets written to {PRESETS}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", help="the table (CSV)")
    parser.add_argument("--write", metavar="DATE", help="replace the shipped sets of constants, dated so (YYYY-MM)")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--keep", metavar="FILE", help="keep the fits here, and start from them if it exists")
    given = parser.parse_args()
    units = table.read(given.path)
    fits = {unit: [run for run in runs if possible(run)] for unit, runs in units.items()}
    ready = sorted(((u, r) for u, r in fits.items() if len(r) >= LEAST_RUNS), key=lambda item: -len(item[1]))
    left = dict.fromkeys((True, False), 0)
    for unit, runs in units.items():
        left[unit.model in table.DENSE] += len(runs) - (len(fits[unit]) if len(fits[unit]) >= LEAST_RUNS else 0)
    kept = Path(given.keep) if given.keep else None
    if kept is not None and kept.exists():
        all_found = pickle.loads(kept.read_bytes())
    else:
        with multiprocessing.get_context("spawn").Pool(given.jobs) as pool:
            all_found = sorted(pool.imap_unordered(fit_unit, ready, chunksize=1), key=lambda f: f.unit)
        if kept is not None:
            kept.write_bytes(pickle.dumps(all_found))
    start = time.process_time()
    cross_groups(all_found)
    unit_table(all_found)
    print()
    summary(all_found, left)
    cliffs(all_found)
    print(f"\nNot fitted: {left[True]} dense rows and {left[False]} of mixtures: too few, or degrees the model cannot have.")
    print(f"CPU: {sum(f.seconds for f in all_found):.0f} s for the fits, {time.process_time() - start:.0f} s for the rest.")
    if given.write:
        write(all_found, given.write)


if __name__ == "__main__":
    main()
