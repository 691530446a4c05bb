"""User cases about lower tiers and load (docs/user-cases.md): sign, order, cliff. Workloads are those told, or assumed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dse.analysis.sweep import cliff
from simcore.accounting import Account
from tests.user_cases.conftest import Case

Why = Callable[..., Account]
RATES = (5, 15, 20, 25, 30, 35, 40)


def test_u17_the_larger_pool_gains(case: Case) -> None:
    """LMCache#1241: -70 % TTFT with a pool of 87,584 tokens. The +27 % at 18,144 is not reproduced: nothing modelled makes a
    load dearer than the prefill it saves there; docs/user-cases.md says so."""
    without, with_it = (case("u17_qwen3_30b", tiers__dram__capacity=c) for c in (0, "60GiB"))
    assert with_it["ttft_mean_s"] < 0.7 * without["ttft_mean_s"]
    small = case("u17_qwen2.5_32b", tiers__dram__capacity=0)
    assert small["preemptions"] > 0 and small["prompt_share_hbm"] == 0  # the pool holds no more than what runs


def test_u18_loads_at_the_logged_rate(why: Why) -> None:
    """LMCache#1740: 41 to 44 GB/s from DRAM; ours is that of the link's typical constants, within a third."""
    found = why("u18_transfers")
    load = found.phases["load"][found.phases["load"] > 0]
    rate = found.found["dram"] * found.reuse.token_bytes / load.sum()
    assert len(load) > 2 and rate == pytest.approx(42.5e9, rel=0.33)
    assert found.reuse.token_bytes == pytest.approx(147_460, rel=1e-4)


def test_u19_offload_gains_with_prompt_size(case: Case) -> None:
    """vLLM blog: TTFT 2 to 22 times lower, growing with the prompt; throughput up to 9 times; contiguous blocks up to 5 times
    over per-layer fragments. Factors within a half: chunk sizes and streams of the engine are not told."""
    gains = []
    for isl in (2049, 8193, 65537):
        load, never = (
            case("u19_prompt_size", workload__isl=isl, engine__load=rule)["ttft_mean_s"] for rule in ("always", "never")
        )
        gains.append(never / load)
    assert 2 / 1.1 <= gains[0] < gains[1] < gains[2] <= 1.5 * 22
    load, never, fragments = (
        case("u19_offload", engine__load=rule, engine__kv_layout=layout)["request_rate_rps"]
        for rule, layout in (("always", "contiguous"), ("never", "contiguous"), ("always", "per_layer"))
    )
    assert load / never == pytest.approx(9, rel=0.5) and load / fragments == pytest.approx(5, rel=0.5)


@pytest.mark.parametrize(
    ("prefix", "concurrency", "groups"), [(1024, 64, 1600), (2048, 64, 800), (4096, 32, 400), (8192, 32, 200), (8192, 64, 200)]
)
def test_u20_loading_has_the_worse_tail(prefix: int, concurrency: int, groups: int, case: Case) -> None:
    """llm-d-router#2833: in every cell the p99 of always loading is above that of recomputing; the rule does not
    raise it by more than a few percent. Its mean may be above at 1K, where a load is as dear as its prefill."""
    always, never, rule = _policies(case, prefix, concurrency, groups)
    assert always["ttft_p99_s"] > never["ttft_p99_s"]
    assert rule["ttft_p99_s"] < 1.05 * always["ttft_p99_s"] and rule["ttft_mean_s"] < 1.5 * always["ttft_mean_s"]


def test_u20_the_threshold_rule(case: Case) -> None:
    """At 8K and 64 requests always loading collapses (there 2,584 ms mean, 57.5 s p99, against 541 ms and 3.4 s); the rule
    (1,024 tokens, 8 waiting) is near recomputing in TTFT and best in throughput (there +63 % over always loading)."""
    always, never, rule = _policies(case, 8192, 64, 200)
    assert always["ttft_mean_s"] > 4 * never["ttft_mean_s"] and always["ttft_p99_s"] > 10 * never["ttft_p99_s"]
    assert never["ttft_mean_s"] < rule["ttft_mean_s"] < 0.3 * always["ttft_mean_s"]
    assert rule["throughput_tokens_per_s"] > 1.15 * max(v["throughput_tokens_per_s"] for v in (always, never))
    waits = [_policies(case, 8192, 64, 200, engine__max_waiting=n)[2]["ttft_mean_s"] for n in (2, 8, 64)]
    assert waits[0] < waits[1] < waits[2]


def _policies(case: Case, prefix: int, concurrency: int, groups: int, **more: int) -> list[dict[str, float]]:
    size = {"workload__prefix_tokens": prefix, "workload__concurrency": concurrency, "workload__groups": groups}
    return [
        case("u20_load_or_recompute", **size, workload__questions=4000 // groups, engine__load=rule, **more)
        for rule in ("always", "never", "threshold")
    ]


def test_u21_the_cliff_moves_to_the_right(case: Case) -> None:
    """llm-d guides: no effect up to 15 requests/s; knee at 20-25 without, 35-40 with offload; mean TTFT 24.78 and 4.24 s at 40.

    Ours come one step later without offload (25-30) and one step earlier with it (30-35). Prefix lengths are assumed, so that
    the share from DRAM is the published 45 %.
    """
    lines = {
        c: [case("u21_offload_under_load", workload__request_rate=r, tiers__dram__capacity=c) for r in RATES]
        for c in (0, "100GiB")
    }
    without, with_it = ([v["ttft_mean_s"] for v in line] for line in lines.values())
    assert lines["100GiB"][3]["prompt_share_dram"] == pytest.approx(0.451, abs=0.03)
    assert all(abs(a - b) < 0.15 for a, b in zip(without[:3], with_it[:3], strict=True))
    first = [next(r for r, t in zip(RATES, line, strict=True) if t > 1) for line in (without, with_it)]
    assert first == [30, 35]
    assert RATES[cliff(without) or 0] in (20, 25) and RATES[cliff(with_it) or 0] in (25, 30)
    assert without[6] == pytest.approx(24.78, rel=0.3)
    gain = lines["100GiB"][6]["throughput_tokens_per_s"] / lines[0][6]["throughput_tokens_per_s"]
    assert 1.15 < gain < 1.75  # there 11,742 / 6,722


def test_u22_the_third_tier_pays(case: Case) -> None:
    """llm-d guides: a file system below DRAM gives +23 % tokens/s at 50K prompts, +28.7 % at 70K (its rate is assumed).

    That it gives more at 70K is missed: ours is 3 points less there.
    """
    gains = []
    for prefix in (50_000, 70_000):
        without, with_it = (
            case("u22_file_system", workload__prefix_tokens=prefix, tiers__lustre__capacity=c) for c in (0, "18TB")
        )
        gains.append(with_it["throughput_tokens_per_s"] / without["throughput_tokens_per_s"])
        assert with_it["ttft_mean_s"] < without["ttft_mean_s"]
    assert all(1.1 < gain < 1.6 for gain in gains) and gains[1] > 0.95 * gains[0]


def test_u23_agents_gain_from_each_tier(case: Case) -> None:
    """ROCm/ATOM#890: HBM < CPU < CPU + NVMe in requests and TTFT, and NVMe buys the tail."""
    hbm, cpu, nvme = (
        case("u23_agents", tiers__dram__capacity=dram, tiers__nvme__capacity=disk)
        for dram, disk in ((0, 0), ("320GiB", 0), ("320GiB", "4TB"))
    )
    assert hbm["request_rate_rps"] < cpu["request_rate_rps"] < nvme["request_rate_rps"]
    assert hbm["ttft_mean_s"] > cpu["ttft_mean_s"] > nvme["ttft_mean_s"]
    assert hbm["ttft_mean_s"] == pytest.approx(84, rel=0.25)
    assert nvme["ttft_p99_s"] < 0.85 * cpu["ttft_p99_s"]


def test_u24_host_memory_buys_back_hbm(case: Case) -> None:
    """ROCm/ATOM#2268: -12.35 % without a host tier, -1.47 % with it; coverage 78.6 + 5.7 % at the large pool, 34.2 + 50.2 % at
    the small one. The loss without the tier is larger here (the model's prefill is assumed)."""
    pools = ("64.8GiB", "26.2GiB")
    without, with_it = (
        [case("u24_hbm_for_dram", tiers__hbm__capacity=p, tiers__dram__capacity=c) for p in pools] for c in (0, "49.8GiB")
    )
    lost = [1 - line[1]["throughput_tokens_per_s"] / line[0]["throughput_tokens_per_s"] for line in (without, with_it)]
    assert lost[0] > 0.1235 and lost[1] == pytest.approx(0.0147, abs=0.025)
    shares = [(v["prompt_share_hbm"], v["prompt_share_dram"]) for v in with_it]
    assert shares == [pytest.approx((0.786, 0.057), abs=0.05), pytest.approx((0.342, 0.502), abs=0.05)]
    assert with_it[1]["ttft_mean_s"] < without[1]["ttft_mean_s"] and with_it[1]["ttft_p99_s"] < without[1]["ttft_p99_s"]


def test_u25_a_tier_below_the_cycle(case: Case, why: Why) -> None:
    """sglang#32503: a working set of 4 times HBM; ratio 2 brings nothing, ratio 4 or a file tier does (there 9.3 to 98.6 %
    of what can be reused, TTFT 1,554 to 911 ms)."""
    none, two, four, file = (
        case("u25_host_ratio", tiers__dram__capacity=dram, tiers__file__capacity=disk)
        for dram, disk in ((0, 0), ("16GiB", 0), ("32GiB", 0), ("16GiB", "1TB"))
    )
    assert none["hit_ratio"] == two["hit_ratio"] == 0 and two["ttft_mean_s"] == pytest.approx(none["ttft_mean_s"], rel=0.05)
    assert four["hit_ratio"] > 0.8 * four["hit_ceiling"] and file["hit_ratio"] == pytest.approx(file["hit_ceiling"], abs=0.01)
    assert file["ttft_mean_s"] / two["ttft_mean_s"] == pytest.approx(911 / 1554, abs=0.1)
    found = why("u25_host_ratio", tiers__file__capacity=0)
    assert found.reuse.regime == "thrash" and 2 < found.reuse.most_tokens / found.reuse.levels[0][1] - 1 < 4
    gains = {w.name: w.e2e_mean for w in found.what_if}
    assert gains["DRAM capacity"] == pytest.approx(1, abs=0.01) and gains["DRAM holding the reuse"] < 0.7


def test_u26_nvme_under_dram(case: Case) -> None:
    """LMCache#4673: DRAM alone is slowest; NVMe under it pays; reading directly beats a buffer in host memory."""
    dram = case("u26_nvme_path", tiers__nvme__capacity=0)
    direct, bounced = (case("u26_nvme_path", **more) for more in ({}, {"tiers__nvme__bounce_bandwidth": "20GB/s"}))
    never = case("u26_nvme_path", engine__load="never")
    assert direct["ttft_mean_s"] < bounced["ttft_mean_s"] < dram["ttft_mean_s"] <= never["ttft_mean_s"]
    assert never["ttft_mean_s"] > 6 * direct["ttft_mean_s"]  # there 6.12 times against recompute


def test_u27_cxl_over_a_peer_over_recompute(case: Case) -> None:
    """xcena-dev/maru: tokens per joule CXL > peer over TCP > recompute; hits from CXL 2.7 to 4.2 times faster than the peer's
    (2 to 4.2 here: the whole mean, first uses included)."""
    tcp = {"tiers__far__read_bandwidth": "3GB/s", "tiers__far__write_bandwidth": "3GB/s"}
    cxl, peer, never = (case("u27_cxl", **more) for more in ({}, tcp, {"engine__load": "never"}))
    assert cxl["energy_j_per_token"] < peer["energy_j_per_token"] < never["energy_j_per_token"]
    assert 2 < peer["ttft_mean_s"] / cxl["ttft_mean_s"] < 4.2 and never["ttft_mean_s"] > peer["ttft_mean_s"]
