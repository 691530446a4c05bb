"""`dse simulate`: one scenario, or one design of a study on every member of its scenario set."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import simcore
from dse.analysis.explain_text import explain_lines, explain_object
from dse.analysis.labels import metric_label
from dse.analysis.simulation import Simulated, definitions, member_table, simulation_lines
from dse.analysis.values import wrapped
from dse.commands.output import Output
from dse.space.members import COMBINE, Member, combined
from dse.space.pins import pin_base, read_pins
from dse.versions import versions
from simcore.errors import InputError, did_you_mean
from simcore.units import format_value
from simcore.yamlio import Document, load_yaml

PROSE = 80
ALONE = "scenario"
DESIGN_KEYS = ("design", "members", "combine", "weights", "seed", "replications", "metrics", "combined")
Values = Mapping[str, float | None]


@dataclass(frozen=True)
class Job:
    """What a file asks to be simulated.

    Args:
        scenarios: by member, in order.
        combine, weights: how members are combined; see `dse.space.members`.
        seed: of the workload; None: its own.
        replications: simulations averaged.
        recorded: member -> metrics the study found for it; empty when there are none, or something was pinned.
    """

    scenarios: Mapping[str, Any]
    combine: Literal["worst", "mean", "each"] = "worst"
    weights: Mapping[str, float] | None = None
    seed: int | None = None
    replications: int = 1
    recorded: Mapping[str, Values] | None = None

    def combine_values(self, runs: Mapping[str, Values]) -> dict[str, float | None]:
        """Metrics over the scenario set."""
        weights = self.weights or {}
        members = tuple(Member(name, float(weights.get(name, 1.0))) for name in runs)
        directions = {key: simcore.find_metric(key).direction for values in runs.values() for key in values}
        return combined(runs, members, self.combine, directions)


def run(file: Path, assignments: tuple[str, ...], explain: bool, output: Output) -> int:
    """Simulate what `file` holds and print it."""
    job = read_job(file, assignments)
    runs = [simulated(job, name) for name in job.scenarios]
    values = {r.name: r.metrics for r in runs}
    total = job.combine_values(values)
    accounts = {name: simcore.account(spec, seed=job.seed) for name, spec in job.scenarios.items()} if explain else {}
    if output.json:
        output.object(as_object(job, runs, total, accounts))
    else:
        output.text("\n".join(text_lines(job, runs, total, accounts, output.width)))
    return 0


def sweep_options(sweeps: list[str], explain: bool, metric: str, share: str, files: list[Path]) -> bool:
    """Whether a sweep is asked for.

    Raises:
        InputError: an option that does nothing with, or without, one.
    """
    if sweeps and explain:
        raise InputError("explains one simulation", path="--explain", hint="leave out --sweep, or --explain")
    if not sweeps:
        for path, given in {"--metric": metric != "ttft_p99", "--slo-share": share != "90%", "--output": bool(files)}.items():
            if given:
                raise InputError("belongs to a sweep", path=path, hint="add --sweep workload.request_rate=5,10,20")
    return bool(sweeps)


def read_job(file: Path, assignments: tuple[str, ...]) -> Job:
    """Read a scenario file, or the file of a design.

    Raises:
        InputError: neither; a space file is refused with the command that takes it.
    """
    document = load_yaml(file)
    data = document.data
    if not isinstance(data, Mapping):
        raise InputError("must be a mapping that describes a scenario", file=document.file, value=data)
    if {"search", "objectives"} & set(data):
        raise InputError("this is a space file, not a scenario", file=document.file, hint=f"run: dse search {file}")
    if "members" in data and "family" not in data:
        return _design(document, assignments)
    return _job(document, {ALONE: data}, assignments)


def _design(document: Document, assignments: tuple[str, ...]) -> Job:
    data, file = document.data, document.file
    for key in data:
        if key not in DESIGN_KEYS:
            raise InputError("unknown key", file=file, path=key, hint=did_you_mean(key, DESIGN_KEYS))
    members = data["members"]
    if not isinstance(members, Mapping) or not members:
        raise InputError("must be a mapping of scenarios by name", file=file, path="members", value=members)
    combine, seed, replications = data.get("combine", "worst"), data.get("seed"), data.get("replications", 1)
    if combine not in COMBINE:
        raise InputError("must be worst, mean or each", file=file, path="combine", value=combine)
    if seed is not None and (type(seed) is not int or seed < 0):
        raise InputError("must be a whole number of at least 0, or null", file=file, path="seed", value=seed)
    if type(replications) is not int or replications < 1:
        raise InputError("must be a whole number of at least 1", file=file, path="replications", value=replications)
    options = {
        "combine": cast(Literal["worst", "mean", "each"], combine),
        "weights": _numbers(data.get("weights"), file, "weights"),
        "seed": seed,
        "replications": replications,
        "recorded": None if assignments else data.get("metrics"),
    }
    return _job(document, members, assignments, **options)


def _numbers(raw: Any, file: str, path: str) -> Mapping[str, float] | None:
    good = raw is None or (isinstance(raw, Mapping) and all(isinstance(v, (int, float)) and v > 0 for v in raw.values()))
    if not good:
        raise InputError("must be numbers above 0 by member", file=file, path=path, value=raw)
    return cast(Mapping[str, float] | None, raw)


def _job(document: Document, members: Mapping[str, Any], assignments: tuple[str, ...], **options: Any) -> Job:
    pins, file = read_pins(assignments), document.file
    scenarios: dict[str, Any] = {}
    for name, data in members.items():
        prefix = "" if len(members) == 1 and name == ALONE else f"members.{name}"
        if pins and isinstance(data, Mapping):
            data = pin_base(copy.deepcopy(dict(data)), pins, lambda d: simcore.expand_scenario(d, file=file))
        scenarios[name] = simcore.build_scenario(
            data, base_dir=Path(file).parent, file=file, prefix=prefix, lines=document.lines
        )
    return Job(scenarios, **options)


def simulated(job: Job, name: str) -> Simulated:
    """Simulate one member; its tables are those of the first replication, its metrics the mean of all."""
    scenario = job.scenarios[name]
    outcome = simcore.simulate(scenario, seed=job.seed)
    errors = simcore.expected_errors(scenario)
    if job.replications == 1:
        return Simulated(name, outcome, simcore.metric_values(outcome), errors)
    return Simulated(name, outcome, simcore.measure(scenario, seed=job.seed, replications=job.replications), errors)


def as_object(
    job: Job, runs: list[Simulated], total: Values, accounts: Mapping[str, simcore.Account] | None = None
) -> dict[str, Any]:
    """The JSON object. `tiers`, `tenants`, `explain` at the top are those of a single scenario; a set has them by member."""
    explained = {name: explain_object(account) for name, account in (accounts or {}).items()}
    scenario = {name: simcore.yaml_dict(spec) for name, spec in job.scenarios.items()}
    return {
        "scenario": next(iter(scenario.values())) if len(scenario) == 1 else scenario,
        "metrics": dict(total),
        "units": {key: simcore.find_metric(key).unit for key in total},
        "members": [
            {"name": r.name, "metrics": dict(r.metrics), "errors": r.off_by(), "tiers": r.tiers(), "tenants": r.tenants()}
            | ({"explain": explained[r.name]} if explained else {})
            for r in runs
        ],
        "errors": runs[0].off_by() if len(runs) == 1 else None,
        "tiers": runs[0].tiers() if len(runs) == 1 else [],
        "tenants": runs[0].tenants() if len(runs) == 1 else [],
        "versions": versions(),
    } | ({"explain": next(iter(explained.values()))} if len(explained) == 1 else {})


def text_lines(
    job: Job, runs: list[Simulated], total: Values, accounts: Mapping[str, simcore.Account], width: int
) -> list[str]:
    """The text: scenario in words, figures by member (with their account if asked for), aggregate, what the words mean."""
    prose = min(width, PROSE)
    first = next(iter(job.scenarios.values()))
    lines = [line for sentence in simcore.describe(first) for line in wrapped(sentence, prose, "  ")]
    for r in runs:
        lines += ["", *([r.name] if len(runs) > 1 else []), *simulation_lines(r, prose)]
        lines += explain_lines(accounts[r.name], prose) if accounts else []
    if len(runs) > 1:
        how = "first" if job.combine == "each" else job.combine
        lines += ["", f"All members, and {how} of them", *member_table(runs, total, how, width)]
    if job.replications > 1:
        lines += wrapped(f"Metrics are means of {job.replications} simulations; the tables show the first.", prose)
    lines += [line for text in comparison(job, runs) for line in wrapped(text, prose, "  ")]
    if accounts:
        lines += ["", "Arithmetic"]
        lines += [line for text in simcore.explain(first) for line in wrapped(f"  {text}", prose, "    ")]
    lines += ["", "How far to trust it"]
    lines += [line for text in simcore.trust(first) for line in wrapped(f"  {text}", prose, "  ")]
    return [*lines, "", *definitions(total, prose)]


def comparison(job: Job, runs: list[Simulated]) -> list[str]:
    """Whether these are the figures the study has for its design."""
    if not job.recorded:
        return []
    different = [
        (r.name, key, value, r.metrics.get(key))
        for r in runs
        for key, value in job.recorded.get(r.name, {}).items()
        if r.metrics.get(key) != value
    ]
    if not different:
        return ["", "Exactly the figures of the study."]
    name, key, before, now = different[0]
    metric = simcore.find_metric(key)
    texts = [format_value(v, metric.unit) for v in (before, now)]
    where = f" ({name})" if len(runs) > 1 else ""
    return [
        "",
        f"{len(different)} figures differ from the study's, {metric_label(metric)}{where} for one: {texts[0]} then, "
        f"{texts[1]} now. Another version made the study, or a file it leans on has changed.",
    ]
