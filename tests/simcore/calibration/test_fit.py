"""Fits find the constants that made the measurements; errors are of runs left out; too little data is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import simcore
from simcore.calibration.cross import Fitted, calibrate, folds, medians
from simcore.calibration.fit import CENTRE, NAMES, active, constants_at, fit, log_errors
from simcore.calibration.records import Transfer
from simcore.calibration.runs import Deployment, Run, predict
from simcore.calibration.transfers import fit_link
from simcore.calibration.user import calibrate_files, constants_text
from simcore.errors import InputError
from simcore.presets import gpu, model
from simcore.roofline.constants import Constants, load_constants, match_constants
from simcore.specs.parallel import ParallelSpec

KNOWN = {"model": "llama-3.1-8b", "gpu": "h100-sxm"}
TRUE = load_constants("default").with_changes(weight_bandwidth_share=0.66, mfu=0.42, layer_s=50e-6, request_s=80e-3)


def runs_of(constants: Constants = TRUE, deployment: Deployment = Deployment()) -> list[Run]:  # noqa: B008
    """Runs whose times the simulator itself made."""
    blank = [
        Run(
            model=model("llama-3.1-8b"), gpu=gpu("h100-sxm", count=tp), parallel=ParallelSpec(tp=tp), weight_format="bf16",
            input_tokens=isl, output_tokens=64, family="vllm", concurrency=clients, ttft_s=None, tpot_s=None,
        )
        for tp, isl in ((1, 512), (2, 512), (1, 4096), (2, 4096))
        for clients in (1, 16)
    ]  # fmt: skip
    found = []
    for run in blank:
        ttft, tpot = predict(run, deployment, constants)
        found.append(Run(**{**{n: getattr(run, n) for n in Run.__dataclass_fields__}, "ttft_s": ttft, "tpot_s": tpot}))
    return found


def test_a_fit_finds_the_constants_that_made_the_runs() -> None:
    runs = runs_of()
    theta, _ = fit(runs, Deployment(), load_constants("default"))
    found = constants_at(theta, TRUE)
    for name in ("weight_bandwidth_share", "mfu", "layer_s", "request_s"):
        assert getattr(found, name) == pytest.approx(getattr(TRUE, name), rel=0.15), name
    assert max(medians(log_errors(runs, Deployment(), found))) < 0.03
    start = log_errors(runs, Deployment(), constants_at(CENTRE, TRUE))
    assert max(medians(start)) > 0.1


def test_errors_are_of_cells_left_out() -> None:
    fitted = calibrate(runs_of(), Deployment(), load_constants("default"))
    assert fitted.errors.shape == fitted.unseen.shape == (8, 2)
    assert medians(fitted.unseen)[1] < 0.08 and not fitted.faults
    cells = [run.cell for run in fitted.runs]
    numbers = folds(cells)
    assert len({(c, f) for c, f in zip(cells, numbers, strict=True)}) == len(set(cells))  # a cell is in one fold
    assert folds(cells) == numbers


def test_what_the_runs_say_nothing_about_stays_as_expected() -> None:
    runs = [run for run in runs_of() if run.gpu.count == 1]
    assert {"allreduce_s", "gpu_link_share", "mfu_fp8", "mfu_fp4", "step_s"}.isdisjoint({NAMES[k] for k in active(runs)})
    theta, _ = fit(runs, Deployment(), load_constants("default"), evaluations=2)
    k = NAMES.index("allreduce_s")
    assert theta[k] == CENTRE[k]


def test_a_pattern_of_clients_moves_ttft() -> None:
    run = runs_of()[5]
    times = {c: predict(run, Deployment(client=c), TRUE)[0] for c in ("varied", "fixed", "lockstep")}  # type: ignore[arg-type]
    assert times["lockstep"] > 1.2 * times["varied"]
    assert predict(run, Deployment(stream_interval=20), TRUE)[0] > predict(run, Deployment(), TRUE)[0]


def test_a_run_that_can_never_fit_is_far_off_not_wrong() -> None:
    large = Run(
        model=model("llama-3.1-405b"), gpu=gpu("h100-sxm"), parallel=ParallelSpec(), weight_format="bf16", input_tokens=512,
        output_tokens=64, family="vllm", concurrency=1, ttft_s=1.0, tpot_s=1.0,
    )  # fmt: skip
    assert np.isnan(predict(large, Deployment(), TRUE)).all()
    assert log_errors([large], Deployment(), TRUE)[0, 0] == 2.0


def test_a_link_is_told_apart_from_its_fixed_cost() -> None:
    made = [Transfer(n, n * 131_072.0, 2e-3 + n * 131_072 / 40e9, "stored") for n in (256, 1024, 4096, 16_384)]
    link = fit_link([*made, Transfer(30_036, 4.58 * 2**30, 14e-3, "retrieved")], 64e9)
    assert link.bandwidth_bytes_per_s == pytest.approx(40e9, rel=1e-3) and link.overhead_s == pytest.approx(2e-3, rel=1e-2)
    assert (link.used, link.dropped) == (4, 1) and link.error < 1e-3
    same = fit_link([made[0]] * 3, 64e9)
    assert same.overhead_s is None
    with pytest.raises(InputError, match="needs at least 3 transfers no faster than the host link"):
        fit_link([Transfer(1, 1e9, 1e-3, "stored")] * 5, 64e9)


def _table(path: Path, runs: list[Run], **columns: object) -> Path:
    names = ["input_tokens", "output_tokens", "concurrency", "tp", "ttft_ms", "tpot_ms", *columns]
    rows = [
        [
            r.input_tokens,
            r.output_tokens,
            r.concurrency,
            r.parallel.tp,
            1e3 * (r.ttft_s or 0),
            1e3 * (r.tpot_s or 0),
            *columns.values(),
        ]
        for r in runs
    ]
    path.write_text("\n".join(",".join(map(str, row)) for row in (names, *rows)) + "\n")
    return path


def test_a_users_table_becomes_constants_that_a_scenario_takes(tmp_path: Path) -> None:
    file = _table(tmp_path / "runs: v2 #1\nmfu: 0.9\nb.csv", runs_of(), model="llama-3.1-8b", gpu="h100-sxm", client="varied")
    found = calibrate_files([file], {})  # whatever its name, it is no more than the source
    assert found.fitted is not None and found.cross_validated
    (tmp_path / "mine.yaml").write_text(found.text)
    loaded = load_constants(str(tmp_path / "mine.yaml"))
    assert loaded.mfu == pytest.approx(TRUE.mfu, rel=0.15) and loaded.measured_runs == 8 and loaded.ttft_error is not None
    scenario = {
        "family": "kv", "model": "llama-3.1-8b", "gpu": "h100-sxm", "engine": {"family": "mine.yaml"},
        "tiers": {"hbm": {"capacity": "40 GiB"}}, "workload": {"kind": "shared_prefix", "concurrency": 2},
    }  # fmt: skip
    mine = simcore.build_scenario(scenario, base_dir=tmp_path)
    assert any("calibrated" in line for line in simcore.trust(mine))
    usual = simcore.build_scenario({**scenario, "engine": {}}, base_dir=tmp_path)
    assert simcore.explain(mine) != simcore.explain(usual)
    before = simcore.canonical(mine)
    (tmp_path / "mine.yaml").write_text(found.text.replace("measured_runs: 8", "measured_runs: 8\nhost_link_share: 0.5"))
    assert simcore.canonical(simcore.build_scenario(scenario, base_dir=tmp_path)) != before


def test_a_fit_holds_for_its_own_model_and_card_alone(tmp_path: Path) -> None:
    """Neither a model from a config.json nor a GPU from a YAML file has a preset's name; the file says their numbers."""
    card = gpu("h100-sxm").with_changes(preset=None, name="Our card")
    spec = model("llama-3.1-8b").with_changes(preset=None)
    runs = tuple(replace(run, model=spec, gpu=card) for run in runs_of())
    blank = np.zeros((len(runs), 2))
    fitted = Fitted(runs, Deployment(), np.where(np.isfinite(CENTRE), CENTRE, 0.0), blank, blank + 1.0)
    mine = tmp_path / "mine.yaml"
    mine.write_text(constants_text(fitted, None, {}, ["a.csv"], True))
    assert "# Do not rely on it: TTFT 172 % off on runs left out" in mine.read_text()
    assert "left out" not in constants_text(fitted, None, {}, ["a.csv"], False)
    kinds = [
        match_constants(on, str(mine), of).kind
        for on, of in (
            (card, spec), (card, model("llama-3.1-8b")), (card, model("gpt-oss-120b")), (gpu("h200"), spec),
            (card.with_changes(bandwidth_bytes_per_s=1e12), spec), (gpu("mi300x"), spec),
        )
    ]  # fmt: skip
    assert kinds == ["calibrated", "calibrated", "another model", "similar hardware", "similar hardware", "uncalibrated"]
    without = "\n".join(line for line in mine.read_text().splitlines() if not line.startswith("model_"))
    mine.write_text(without)
    assert match_constants(card, str(mine), spec).kind == "another model"


def test_a_file_with_a_link_alone_leaves_the_steps_to_the_fits(tmp_path: Path) -> None:
    link = fit_link([Transfer(n, n * 1e5, n * 1e5 / 20e9, "stored") for n in (256, 1024, 4096)], 64e9)
    (tmp_path / "link.yaml").write_text(constants_text(None, link, {"gpu": "h100-sxm"}, ["a.log"], False))
    card, spec = gpu("h100-sxm"), model("llama-3.1-70b")
    usual, mine = match_constants(card, "vllm", spec), match_constants(card, str(tmp_path / "link.yaml"), spec)
    assert mine.constants.host_link_share == pytest.approx(20 / 64, abs=1e-3)
    assert (mine.kind, mine.constants.mfu) == (usual.kind, usual.constants.mfu)


@pytest.mark.parametrize(
    ("text", "said", "message"),
    [
        ("ttft_ms,concurrency\n1,2\n", KNOWN, "does not say client, input_tokens, output_tokens"),
        ("ttft_ms,concurrency,client,input_tokens,output_tokens\n1,2,fixed,100,10\n", KNOWN,
         "runs: needs at least 4 runs that differ"),
        ("ttft_ms,concurrency,client,input_tokens,output_tokens\n1,2,burst,100,10\n", KNOWN,
         "unknown pattern of clients; got burst"),
        ("nothing at all\n", {}, "is in no known format of measurements"),
        ("LMCache INFO: Stored 8 out of total 8 tokens. size: 0.1 gb, cost 9.0 ms\n", {}, "does not say the GPU"),
    ],
)  # fmt: skip
def test_what_cannot_be_fitted_is_refused_with_what_is_missing(
    tmp_path: Path, text: str, said: dict[str, str], message: str
) -> None:
    (tmp_path / "f").write_text(text)
    with pytest.raises(InputError, match=message):
        calibrate_files([tmp_path / "f"], said)
