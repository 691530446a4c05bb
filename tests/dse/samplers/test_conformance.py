"""What every sampler must do behind the asker: new designs only, inside the space, and the same ones after any interruption."""

from __future__ import annotations

import pytest

from dse.asking.asker import Asked, Asker
from dse.objective import Task
from dse.samplers import _seam
from dse.storage.records import make_trial, to_optuna
from dse.trial import Trial
from simcore.errors import InputError
from tests.dse.fake_space import FakeDimension, FakeMetric, FakeSpace, dimensions, evaluate

NAMES = [name for name in _seam.names() if name not in ("cmaes", "gp")]
BATCH = 10
SINGLE = FakeSpace(objectives=(FakeMetric("ttft_p99", "ttft_p99_s"),))


def evaluated(space: FakeSpace, asked: Asked) -> Trial:
    members = {m.name: space.scenario(asked.proposal.point, m) for m in space.members}
    return make_trial(space, asked, evaluate(Task(asked.number, asked.key, members, ".")))  # type: ignore[arg-type]


def search(space: FakeSpace, sampler: str, batches: int, *, restart: bool = False, seed: int = 3) -> list[Trial]:
    """A search in memory; with `restart` every batch is asked by an asker that knows only the trials before it."""
    asker, frozen, trials = Asker(space, sampler, seed), [], []  # type: ignore[arg-type,var-annotated]
    for _ in range(batches):
        if restart:
            asker = Asker(space, sampler, seed)  # type: ignore[arg-type]
            asker.tell(frozen)
        batch = asker.ask(BATCH)
        new = [evaluated(space, asked) for asked in batch]
        told = [to_optuna(space, asked, trial) for asked, trial in zip(batch, new, strict=True)]  # type: ignore[arg-type]
        asker.tell(told)
        frozen, trials = frozen + told, trials + new
    return trials


@pytest.mark.parametrize("sampler", NAMES)
def test_designs_are_new_allowed_and_inside_the_space(sampler: str) -> None:
    space = FakeSpace(hbm_share=0.1)
    trials = search(space, sampler, 6)
    assert [t.number for t in trials] == list(range(6 * BATCH))
    assert len({t.key for t in trials}) == len(trials)
    for trial in trials:
        assert space.satisfies_paths(trial.point)
        assert trial.key == space.key(trial.point)
        assert ("tiers.cxl.policy" in trial.point) == (trial.point["tiers.cxl.capacity"] != 0)


@pytest.mark.parametrize("sampler", NAMES)
def test_a_new_asker_goes_on_as_the_old_one_would_have(sampler: str) -> None:
    first, again = search(FakeSpace(), sampler, 6), search(FakeSpace(), sampler, 6, restart=True)
    assert [t.key for t in first] == [t.key for t in again]
    assert [t.duplicates for t in first] == [t.duplicates for t in again]


@pytest.mark.parametrize("sampler", NAMES)
def test_the_seed_decides(sampler: str) -> None:
    keys = [[t.key for t in search(FakeSpace(), sampler, 2, seed=seed)] for seed in (1, 1, 2)]
    assert keys[0] == keys[1]
    assert keys[0] != keys[2]


@pytest.mark.parametrize("sampler", NAMES)
def test_failed_and_infeasible_designs_stop_no_sampler(sampler: str) -> None:
    space = FakeSpace(dimensions=dimensions(policies=("lru", "broken", "blank")))
    trials = search(space, sampler, 5)
    assert len({t.key for t in trials}) == 5 * BATCH
    assert {t.state for t in trials} == {"complete", "failed"}
    assert not all(t.feasible for t in trials if t.state == "complete")


@pytest.mark.parametrize("sampler", NAMES)
def test_one_objective_is_enough(sampler: str) -> None:
    assert len({t.key for t in search(SINGLE, sampler, 4)}) == 4 * BATCH


@pytest.mark.parametrize("sampler", [name for name in NAMES if name not in ("grid", "bruteforce")])
def test_continuous_ranges_can_be_searched(sampler: str) -> None:
    space = FakeSpace(dimensions=(*dimensions(), FakeDimension("load.factor", low=0, high=1, continuous=True)))
    values = [t.point["load.factor"] for t in search(space, sampler, 3)]
    assert len(set(values)) > 20
    assert all(0 <= value <= 1 for value in values)


@pytest.mark.parametrize("sampler", NAMES)
def test_every_design_of_a_small_space_is_found_once(sampler: str) -> None:
    space = FakeSpace(dimensions=dimensions(hbm_high=5))
    distinct = {space.key(p) for p in every_point(space)}
    asker = Asker(space, sampler, 0)  # type: ignore[arg-type]
    keys: list[str] = []
    while asker.exhausted is None:
        batch = asker.ask(BATCH)
        asker.tell([to_optuna(space, asked, evaluated(space, asked)) for asked in batch])  # type: ignore[arg-type]
        keys += [asked.key for asked in batch]
    assert len(keys) == len(set(keys))
    assert set(keys) == distinct
    assert str(len(distinct)) in asker.exhausted


def every_point(space: FakeSpace) -> list[dict[str, object]]:
    from dse.asking.scripted import walk

    return [dict(proposal.point) for proposal in walk(space)]  # type: ignore[arg-type]


def test_unknown_samplers_are_refused_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match=r"unknown sampler; got nsga4\. Did you mean nsga[23]\?"):
        Asker(FakeSpace(), "nsga4", 0)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "package"), [("cmaes", "cmaes"), ("gp", "torch")])
def test_a_sampler_that_lacks_a_package_says_so_before_the_search(name: str, package: str) -> None:
    try:
        __import__(package)
    except ImportError:
        with pytest.raises(InputError, match=f"pip install {package}"):
            Asker(SINGLE, name, 0)  # type: ignore[arg-type]
    else:
        assert Asker(SINGLE, name, 0).ask(2)  # type: ignore[arg-type]
