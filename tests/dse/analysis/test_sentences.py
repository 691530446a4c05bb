"""Every sentence under the table, held against the same number computed another way."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from dse.analysis.drivers import against_base, binding, drivers, never, reuse, slopes, tiers
from dse.analysis.front_table import share_columns
from dse.analysis.infeasible import by_member, nearest, relaxation
from dse.analysis.trust import convergence
from dse.analysis.view import Front, fronts_of
from dse.analysis.whatif import neighbours, single_changes, why
from dse.space import load_space
from dse.study import Study
from dse.trial import Trial
from simcore.units import GIB, parse_bytes
from tests.dse.toy_study import CEILING, judged, toy_space, toy_study, toy_trials

COST, TTFT = "hbm_cost_usd", "ttft_p99_s"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return toy_study(tmp_path_factory.mktemp("toy"), 600)


@pytest.fixture(scope="module")
def front(study: Study) -> Front:
    return fronts_of(study)[0]


def numbers(text: str) -> list[float]:
    return [float(n) for n in re.findall(r"\d+(?:\.\d+)?", text)]


def pool_gib(trial: Trial) -> float:
    return parse_bytes(trial.point["tiers.hbm.capacity"]) / GIB


def test_the_front_is_the_non_dominated_set(front: Front) -> None:
    def beats(a: Trial, b: Trial) -> bool:
        pairs = [(a.combined[k], b.combined[k]) for k in (TTFT, COST)]
        return all(x <= y for x, y in pairs) and any(x < y for x, y in pairs)  # type: ignore[operator]

    best = [t for t in front.feasible if not any(beats(o, t) for o in front.feasible)]
    assert {(t.combined[TTFT], t.combined[COST]) for t in front.designs} == {(t.combined[TTFT], t.combined[COST]) for t in best}
    assert len({t.combined[TTFT] for t in front.designs}) == len(front.designs)
    costs = [t.combined[COST] for t in front.designs]
    assert costs == sorted(costs)  # type: ignore[type-var]


def test_slope_per_gib_left_of_the_knee_and_gain_right_of_it(front: Front) -> None:
    first, knee, last = front.designs[0], front.knee, front.designs[-1]
    assert knee is not None
    ((label, text),) = slopes(front)
    assert label == "HBM"
    low, middle, gib, per_gib, _, step, rest = numbers(text)
    assert (low, middle) == (first.combined[COST], knee.combined[COST])
    assert gib == pool_gib(knee) - pool_gib(first)
    gained = first.combined[TTFT] - knee.combined[TTFT]  # type: ignore[operator]
    assert per_gib == pytest.approx(1000 * gained / gib, abs=0.05)
    assert step == last.combined[COST] - knee.combined[COST]  # type: ignore[operator]
    assert rest == pytest.approx(1000 * (knee.combined[TTFT] - last.combined[TTFT]), abs=0.5)  # type: ignore[operator]


def test_the_first_design_with_a_tier_and_what_doing_without_costs(front: Front) -> None:
    ((label, text),) = tiers(front)
    used = [t for t in front.designs if t.point["tiers.cxl.capacity"] != 0]
    without = [t for t in front.feasible if t.point["tiers.cxl.capacity"] == 0]
    best = min(without, key=lambda t: (t.combined[TTFT], t.number))
    fastest = min(t.combined[TTFT] for t in front.designs)  # type: ignore[type-var]
    assert label == "CXL" and text.startswith(f"in every design from {used[0].combined[COST]:.0f} USD up")
    assert numbers(text.replace("p99", ""))[1:3] == [round(1000 * best.combined[TTFT]), best.number]  # type: ignore[operator]
    assert f"{best.combined[TTFT] / fastest:.2f}x" in text  # type: ignore[operator]


def _sub(front: Front, keep: Sequence[Trial]) -> Front:
    return dataclasses.replace(front, trials=tuple(keep))


def test_a_tier_in_every_design_is_held_against_the_cheapest_without(front: Front) -> None:
    ends = [t for t in front.trials if t.point.get("tiers.cxl.capacity") != 0 or pool_gib(t) >= 40]
    ((_, text),) = tiers(_sub(front, ends))
    sub = _sub(front, ends)
    if all(t.point["tiers.cxl.capacity"] != 0 for t in sub.designs):
        cheapest = min(
            (t for t in sub.feasible if t.point["tiers.cxl.capacity"] == 0),
            key=lambda t: (t.combined[COST], t.combined[TTFT]),
        )
        assert text.startswith("in every design of the front")
        assert f"costs {cheapest.combined[COST]:.0f} USD" in text


def test_a_tier_that_never_helps_and_one_never_left_out(front: Front) -> None:
    never_used = [t for t in front.trials if t not in front.designs or t.point["tiers.cxl.capacity"] == 0]
    without = _sub(front, [t for t in never_used if t.point["tiers.cxl.capacity"] == 0 or t.combined.get(TTFT, 0) > 1.2])  # type: ignore[operator]
    assert "on no design of the front" in tiers(without)[0][1]
    always = _sub(front, [t for t in front.trials if t.point["tiers.cxl.capacity"] != 0])
    assert "no design without it was feasible" in tiers(always)[0][1]


def _with(trial: Trial, number: int, point: dict[str, object] | None = None, **figures: float) -> Trial:
    values = {{"cost": COST, "ttft": TTFT}[name]: value for name, value in figures.items()}
    combined = {**trial.combined, **values}
    point = {**trial.point, **(point or {})}
    return dataclasses.replace(trial, number=number, key=f"k{number}", point=point, combined=combined)


def _base_text(front: Front, base: Trial, trials: Sequence[Trial]) -> str:
    ((label, text),) = against_base(dataclasses.replace(front, trials=tuple(trials), base=base))
    assert label == "Base" and " 0 USD" not in text and " 0 ms" not in text
    return text


def test_the_base_is_beaten_only_by_what_is_better(front: Front) -> None:
    one = front.designs[0]
    base, fast = _with(one, -1, ttft=1.0, cost=600.0), _with(one, 5, ttft=0.5, cost=900.0)
    same = dataclasses.replace(_with(one, 3, ttft=1.0, cost=600.0), key=base.key)
    assert "own scenario is design 3, on the front" in _base_text(front, base, [same, fast])
    twin = _with(one, 4, ttft=1.0, cost=600.0)
    assert "is as good as design 4" in _base_text(front, base, [twin, fast])
    assert "not beaten by any design found" in _base_text(front, base, [fast])
    faster, cheaper = _with(one, 6, ttft=0.8, cost=600.0), _with(one, 7, ttft=1.0, cost=400.0)
    assert _base_text(front, base, [faster, fast]).endswith("less TTFT p99 and costs the same.")
    assert _base_text(front, base, [cheaper, fast]).endswith("is as good and saves 200 USD.")
    both = _base_text(front, base, [faster, cheaper, fast])
    assert "design 6 costs no more and has 200 ms less" in both and "design 7 is no worse and saves 200 USD" in both


def test_a_tier_that_can_be_left_out_for_nothing_is_no_driver(front: Front) -> None:
    used = next(t for t in front.designs if t.point["tiers.cxl.capacity"] != 0)
    out: dict[str, object] = {"tiers.cxl.capacity": 0}
    with_it = [_with(used, 0, ttft=1.0, cost=600.0), _with(used, 1, ttft=0.8, cost=900.0)]
    nearly = [_with(used, 2, out, ttft=1.004, cost=600.0), _with(used, 3, out, ttft=0.803, cost=900.0)]
    ((label, text),) = tiers(_sub(front, [*with_it, *nearly]))
    assert label == "CXL" and text == "leaving it out costs nothing here: designs without it match the front within 1 %."
    ((_, text),) = tiers(_sub(front, [*with_it, nearly[0]]))
    assert "the cheapest feasible design costs no more: 600 USD, same TTFT p99 within 1 %" in text
    ((_, text),) = tiers(_sub(front, [*with_it, _with(used, 4, out, ttft=1.003, cost=700.0)]))
    assert "costs 700 USD and has the same TTFT p99 as design 0 within 1 %" in text


def test_reuse_against_the_ceiling(front: Front) -> None:
    assert front.knee is not None
    ((_, text),) = reuse(front)
    hit = front.knee.combined["hit_ratio"]
    assert hit is not None
    assert numbers(text)[:2] == [round(100 * hit), round(100 * CEILING)]


def test_constraints_that_bind_are_counted(front: Front) -> None:
    ((_, text),) = binding(front)
    near = sum(t.combined["tpot_p99_s"] >= 0.95 * 0.080 for t in front.designs)  # type: ignore[operator]
    missed = sum(t.state == "complete" and t.combined["tpot_p99_s"] > 0.080 for t in front.trials)  # type: ignore[operator]
    assert f"tpot_p99 <= 80 ms in {near} of {len(front.designs)}" in text
    assert f"Ruled out: {missed} by tpot_p99 <= 80 ms." in text
    assert "saturated" not in text


def test_values_never_on_the_front(front: Front) -> None:
    ((_, text),) = never(front)
    assert text == "load always; kv_format bf16."
    kept = {(t.point["engine.load"], t.point["kv_format"]) for t in front.designs}
    assert kept == {("cheaper", "fp8_e4m3")}


def test_a_single_design_still_gives_sentences(front: Front) -> None:
    alone = _sub(front, [front.designs[0]])
    assert alone.knee is None and len(alone.designs) == 1
    assert all(text.endswith(".") for _, text in drivers(alone))


def test_convergence_counts_from_the_last_trial_that_entered_the_front(front: Front) -> None:
    grown = [n for n in range(len(front.trials)) if _grows(front, n)]
    text = convergence([front])
    assert f"last gain at design {grown[-1]}" in text
    assert numbers(text)[1] == len(front.trials) - 1 - grown[-1]


def _grows(front: Front, number: int) -> bool:
    return any(t.number == number for t in _sub(front, front.trials[: number + 1]).designs)


def test_a_space_that_is_exhausted_is_called_complete(tmp_path: Path) -> None:
    space = toy_space(tmp_path)
    small = dataclasses.replace(space, dimensions=space.dimensions[1:2])
    trials = [judged(small, i, {"tiers.dram.capacity": f"{64 * 2**i} GiB"}) for i in range(3)]
    assert convergence([Front(small, tuple(trials))]) == "Complete: all 3 designs of the space were evaluated."


def test_the_knee_is_explained_by_shares_and_slopes(front: Front) -> None:
    first, knee, last = front.designs[0], front.knee, front.designs[-1]
    assert knee is not None
    shares = [
        100 * (first.combined[k] - knee.combined[k]) / (first.combined[k] - last.combined[k])  # type: ignore[operator]
        for k in (TTFT, COST)
    ]
    assert f"takes {shares[0]:.0f} % of the TTFT p99 to be gained for {shares[1]:.0f} % of the HBM cost" in why(front)


def test_steps_name_what_changed(front: Front) -> None:
    assert front.knee is not None
    for step in [*neighbours(front, front.knee), *single_changes(front, front.knee)]:
        assert step.moves[1] == step.trial.combined[COST] - front.knee.combined[COST]  # type: ignore[operator]
        for path, before, after in step.changes:
            assert (before, after) == (str(front.knee.point[path]), str(step.trial.point[path]))
    for step in single_changes(front, front.knee):
        differing = [p for p in front.knee.point if step.trial.point.get(p, front.knee.point[p]) != front.knee.point[p]]
        assert len(differing) == 1


@pytest.mark.parametrize("limit", ["30 ms", "45 ms", "50 ms", "62.7 ms"])
def test_the_smallest_relaxation_admits_the_design_it_names(limit: str, tmp_path: Path) -> None:
    space = toy_space(tmp_path, limit=limit)
    trials = toy_trials(space)
    assert not any(t.feasible for t in trials)
    text = relaxation(space, trials)
    found = re.fullmatch(r"Smallest change that admits one \(design (\d+)\): (tpot_p99 <= [\d.]+ ms) \(\+[\d.]+ %\)\.", text)
    assert found is not None
    relaxed = toy_space(tmp_path, limit=found[2].removeprefix("tpot_p99 <= "))
    admitted = [t.number for t in trials if t.state == "complete" and judged(relaxed, t.number, t.point).feasible]
    assert int(found[1]) in admitted
    tighter = float(numbers(found[2].removeprefix("tpot_p99"))[0]) - 0.2
    strict = toy_space(tmp_path, limit=f"{tighter:.2f} ms")
    assert not any(judged(strict, t.number, t.point).feasible for t in trials if t.state == "complete")


def test_what_is_feasible_at_which_member_is_counted_without_simulating(tmp_path: Path) -> None:
    space = toy_space(tmp_path, limit="45 ms")
    trials = toy_trials(space)
    text = by_member(space, trials)
    for member in space.members:
        count = sum(
            t.metrics[member.name]["tpot_p99_s"] <= 0.045  # type: ignore[operator]
            and t.metrics[member.name]["quality_loss"] <= 0.02  # type: ignore[operator]
            for t in trials
            if t.state == "complete"
        )
        assert f"at {member.name}: {count or 'none'}" in text


def test_nearest_designs_cover_different_misses_first(tmp_path: Path) -> None:
    space = toy_space(tmp_path, limit="45 ms")
    trials = list(toy_trials(space, 20))
    bad = {**trials[3].violations, "quality_loss <= 0.02": 4.0, "tpot_p99 <= 45 ms": -0.5}
    trials[3] = dataclasses.replace(trials[3], violations=bad)
    rows = nearest(trials)
    assert trials[3] in rows and len(rows) == 3


def test_built_in_constraints_cannot_be_relaxed(tmp_path: Path) -> None:
    space = toy_space(tmp_path)
    trials = [
        dataclasses.replace(t, violations={**t.violations, "saturated": 1.0}, combined={**t.combined, "utilisation": 1.3})
        for t in toy_trials(space, 20)
    ]
    text = relaxation(space, trials)
    assert text.startswith("No limit to relax: every design misses saturated.") and "loaded to 130 %" in text


def test_a_stored_space_reads_the_same(tmp_path: Path) -> None:
    """The sentences work on the space of a study folder, which is written out in full."""
    from simcore.yamlio import dump_yaml

    space = toy_space(tmp_path)
    (tmp_path / "space.yaml").write_text(dump_yaml(space.resolved()))
    stored = load_space(tmp_path / "space.yaml", check=False)
    trials = toy_trials(space)
    assert drivers(Front(stored, trials)) == drivers(Front(space, trials))


def test_a_tier_only_some_designs_have_keeps_its_column(front: Front) -> None:
    without = {k: v for k, v in front.designs[0].metrics["request_rate=2"].items() if not k.endswith("_cxl")}
    first = dataclasses.replace(front.designs[0], metrics=dict.fromkeys(front.designs[0].metrics, without))
    rows = [first, *front.designs[1:]]
    columns = share_columns(front, rows)
    assert [c.sub for c in columns] == ["HBM", "DRAM", "CXL", "prefill"]
    assert columns[2].cells[0] == "-" and columns[2].cells[-1].isdigit()
