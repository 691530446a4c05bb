"""Laws of sizing: what is promised fits, more never gives less, the flag in the table gives what it says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.errors import InputError
from simcore.presets import list_presets, model
from simcore.roofline.levers import levers
from simcore.roofline.log_fit import fit_footprint
from simcore.roofline.paging import windowed_pages
from simcore.roofline.sizing import Sizing, build_deployment, size
from simcore.roofline.working import working
from simcore.units import GIB

FAMILIES = ("vllm", "sglang", "trtllm")


def sized(name: str, gpu: str = "h200", **fields: object) -> Sizing:
    return size(build_deployment({"model": name, "gpu": gpu, **fields}))


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(list_presets("models")), st.sampled_from(FAMILIES), st.integers(1, 40), st.sampled_from(["bf16", "int8"])
)
def test_what_is_promised_fits(name: str, family: str, gib: int, kind: str) -> None:
    length = min(2048, model(name).max_model_len)
    found = sized(name, pool_bytes=f"{gib} GiB", max_model_len=length, kv_format=kind, engine={"family": family})
    pages = found.binding.paging
    whole = int(found.sequences)
    assert whole * pages.bytes_of(length) <= gib * GIB < (whole + 1) * pages.bytes_of(length) + pages.page_bytes
    assert found.longest_of(max(1, whole)) >= (length if whole else 0)
    if found.longest:
        assert pages.bytes_of(found.longest) <= gib * GIB
    assert found.pool_tokens <= sized(name, pool_bytes=f"{gib + 1} GiB", max_model_len=length, kv_format=kind).pool_tokens


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(FAMILIES), st.integers(1, 20), st.sampled_from([1, 2, 4]), st.sampled_from([1, 2, 3]))
def test_the_share_in_the_table_gives_that_many(family: str, count: int, tp: int, pp: int) -> None:
    parallel = {"tp": tp, "pp": pp}
    base = sized("qwen3-14b", max_model_len=4096, parallel=parallel, engine={"family": family})
    share = base.share_needed(count)
    assert 0 < share < 1
    engine = {"family": family, "gpu_memory_utilization": share + 1e-9}
    again = sized("qwen3-14b", max_model_len=4096, parallel=parallel, engine=engine)
    assert int(again.sequences + 1e-9) >= count and again.sequences < count + 1.5


@pytest.mark.parametrize("name", ["llama-3.1-70b", "gpt-oss-120b", "qwen3.6-27b", "qwen3-30b-a3b"])
def test_levers_give_more_and_say_so(name: str) -> None:
    base = sized(name, "h100-sxm", parallel={"tp": 4}, max_model_len=8192)
    found = levers(base, 10_000)
    assert found and all(lv.sizing.sequences > base.sequences or lv.sizing.longest > base.longest for lv in found)
    assert [lv.sizing.sequences for lv in found] == sorted((lv.sizing.sequences for lv in found), reverse=True)
    assert {"kv_format fp8_e4m3", "pp 2 (8 GPUs)"} <= {lv.change for lv in found}


def test_a_stage_with_fewer_layers_can_bind_for_its_logits() -> None:
    """The last of four stages has a layer fewer than the third, and the sampler: with a long vocabulary it has less room."""
    found = sized(
        "deepseek-v3", "h200", parallel={"tp": 4, "pp": 4}, engine={"max_num_seqs": 4096, "max_num_batched_tokens": 4096}
    )
    assert found.binding.stage.number == 3
    few = sized("deepseek-v3", "h200", parallel={"tp": 4, "pp": 4}, engine={"max_num_seqs": 8})
    assert few.binding.stage.number == 2


def test_a_limit_on_blocks() -> None:
    found = sized("qwen3-8b", max_blocks=1000)
    assert (found.blocks, found.pool_tokens) == (1000, 16_000) and found.excess_bytes == 0
    within = sized("qwen3-8b", max_blocks=1000, pool_bytes="100 MiB")
    assert within.blocks == 100 * 2**20 // (147_456 * 16)


@pytest.mark.parametrize("mode", ["unified", "ring"])
def test_both_bounds_of_windows(mode: str) -> None:
    found = sized("gpt-oss-20b", engine={"sliding_window_cache": mode}, max_model_len=8192)
    assert found.window_bounds is not None
    unified, paged, ring = found.window_bounds
    assert unified <= paged <= ring
    assert found.sequences == (unified if mode == "unified" else ring) and 1.9 < ring / unified < 2
    assert sized("qwen3-8b").window_bounds is None


def test_a_cache_that_does_not_grow() -> None:
    """Every layer a ring of 4,096 tokens, as Mistral-7B v0.1: a request costs 512 MiB, however long it is."""
    windows = {"preset": "mistral-7b", "sliding": {"window_tokens": 4096, "layers": 32}}
    fields = {"gpu": "h200", "pool_bytes": "10 GiB", "engine": {"sliding_window_cache": "ring"}, "model": windows}
    for length in (4096, 32_768):
        found = size(build_deployment({**fields, "max_model_len": length}))
        assert found.request_bytes() == 512 * 2**20 and found.sequences == 20
        assert found.longest == 32_768 and found.pool_tokens == 20 * length
    assert size(build_deployment({**fields, "pool_bytes": "500 MiB"})).longest == 0


def test_windows_as_vllm_pages_them() -> None:
    """alvarobartt/hf-mem#60: gpt-oss-120b, 5.38 GiB: the log counts the pages of one of two groups, 78,384 tokens. 2,048 tokens
    a step and a window of 128 keep 137 blocks of 16 in the other group."""
    found = sized("gpt-oss-120b", "h100-sxm", pool_bytes="5.38 GiB", max_model_len=8192)
    d = found.deployment
    page, each, groups = windowed_pages(d.model, d.kv_format, d.engine, 1, 8192)
    pages = int(found.binding.pool_bytes // page)
    assert groups == 2 and pages // groups * 16 == pytest.approx(78_384, rel=0.001)
    assert each == 512 + 137
    assert found.window_bounds is not None and found.window_bounds[1] == pages / each


def test_the_working_ends_in_the_answer() -> None:
    for name in list_presets("models"):
        found = sized(name, "b200", pool_bytes="20 GiB")
        terms = {term.name: term.value for term in working(found)}
        assert terms["tokens"] == found.pool_tokens and terms["requests at once"] == found.sequences
        assert terms["weights"] == found.binding.stage.fixed.weights
        assert all(term.how for term in working(found))


@given(st.integers(0, 10**9), st.integers(1, 10**6), st.lists(st.integers(1000, 200_000), min_size=2, max_size=5, unique=True))
def test_a_fit_finds_what_made_the_lines(fixed: int, token: int, lengths: list[int]) -> None:
    pool = 2**50  # so large that whole tokens hide nothing
    lines = [(int(pool * length / (fixed + token * length)), length) for length in lengths]
    found = fit_footprint(pool, lines)
    for length in lengths:
        assert found.bytes_per_sequence + found.bytes_per_token * length == pytest.approx(fixed + token * length, rel=1e-3)


def test_lines_of_different_pools_are_refused() -> None:
    with pytest.raises(InputError, match="fit no footprint"):
        fit_footprint(10 * GIB, [(50, 400_000), (1_000, 100_000), (1_000_000, 1000)])
