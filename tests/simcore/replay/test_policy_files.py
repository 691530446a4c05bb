"""Files of policies and filters that break the contract: one message that names the file and the rule."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simcore.declared import asked
from simcore.errors import InputError, SimcoreError
from simcore.plugins import broken, find, from_file
from simcore.replay import engine, lower, store
from simcore.replay.contract import check
from simcore.replay.curve import miss_ratio_curve
from simcore.replay.run import replay
from simcore.replay.setup import Tier
from simcore.traces.accesses import Accesses

LRU = """
import numpy as np
from simcore.kernel import kernel
from simcore.policies.lru import *
from simcore.specs.base import Spec
"""
FILTER = """
import numpy as np
from simcore.kernel import kernel
from simcore.admission.none import *
"""
VICTIM = "\n@kernel\ndef choose_victim(st, s):\n    return {}\n"
MISS = "\n@kernel\ndef on_miss(st, s, obj):\n    {}\n"
TRACE = Accesses.of(np.random.default_rng(0).integers(0, 40, 2_000))


def refusal(file: Path, **tier: object) -> str:
    """The message of a replay with the file; it is of the file, and one line."""
    with pytest.raises(InputError) as caught:
        replay(TRACE, [Tier(capacity=7, **(tier or {"policy": file}))])  # type: ignore[arg-type]
    assert caught.value.file is not None and Path(caught.value.file).resolve() == file.resolve()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('NEEDS = "clock"', "NEEDS must be a set of names; got clock"),
        ("NEEDS = {1}", "NEEDS must be a set of names"),
        ('NEEDS = {"price"}', "needs price, which no replay can tell it"),
        ("Params = 3", "Params must be a subclass of simcore.specs.base.Spec; got 3"),
        ("class Params(dict): pass", "Params must be a subclass of simcore.specs.base.Spec"),
        ('class Params(Spec):\n    word: str = "a"', "parameter word must be a float, int or bool"),
        ("class Params(Spec):\n    words: list[int] = []", "parameter words must be a float, int or bool"),
        ("class Params(Spec):\n    cap: int = 1", "the field or parameter cap is the engine's own"),
        ("class Params(Spec):\n    most: int = 1 << 70", "the default of parameter most must be a number of 64 bits"),
        ('FIELDS = "visited"', "FIELDS must be a tuple of (name, type)"),
        ('FIELDS = ("visited", np.uint8)', "FIELDS must hold pairs of a name and a NumPy type of one number; got visited"),
        ('FIELDS = (("a b", np.uint8),)', "FIELDS must hold pairs"),
        ('STORE_FIELDS = (("hand", "nothing"),)', "STORE_FIELDS must hold pairs"),
        ('STORE_FIELDS = (("hand", np.str_),)', "STORE_FIELDS must hold pairs"),
        ('OBJECT_FIELDS = (("seen", None),)', "OBJECT_FIELDS must hold pairs"),
        ('FIELDS = (("prev", np.uint8),)', "prev is the engine's own"),
        ('FIELDS = (("units", np.uint8),)', "units is the engine's own"),
        ('STORE_FIELDS = (("used", np.uint8),)', "used is the engine's own"),
        ('OBJECT_FIELDS = (("a", np.uint8), ("a", np.int64))', "a is declared twice"),
        ('STORE_FIELDS = (("a", np.uint8),)\nclass Params(Spec):\n    a: int = 1', "a is declared twice"),
        ("WORDS = 7", "WORDS must be a function"),
        ("def WORDS(slots, n_objects): return 1 / 0", "WORDS fails: ZeroDivisionError: division by zero"),
        ("def WORDS(slots): return 1", "WORDS fails: TypeError"),
        ("def SPARE_NODES(slots, n_objects): return -1", "SPARE_NODES must return a whole number of at least 0; got -1"),
        ("def REALS(slots, n_objects): return 1.5", "REALS must return a whole number of at least 0; got 1.5"),
        ("def WORDS(slots, n_objects): return 10**18", "WORDS asks for more than the memory of this machine"),
        ("def REALS(slots, n_objects): return 10**30", "REALS asks for more than the memory of this machine"),
        ("LEARN_EVERY = 0", "LEARN_EVERY must be a whole number above 0; got 0"),
        ("LEARN_EVERY = 10.5", "LEARN_EVERY must be a whole number above 0"),
        ("LEARN_EVERY = True", "LEARN_EVERY must be a whole number above 0"),
        ("learn = 3", "learn must be a function"),
        ("def learn(st): raise KeyError('no\\nmodel')", "learn fails: KeyError: 'no\\nmodel'"),
        ("def learn(st): raise ValueError('two\\nlines')", "learn fails: ValueError: two lines"),
        ("def on_hit(st, s, i): pass", "on_hit must be a jitted function. Decorate it with simcore.kernel.kernel"),
        ("def on_pin(st, s, i): pass", "on_pin must be a jitted function"),
        ("on_evict = None", "on_evict must be a jitted function"),
        ("import sys\nsys.exit('two\\nlines')", "fails when it is loaded: SystemExit: two lines"),
        ("{}['key']", "fails when it is loaded: KeyError: 'key'"),
        (VICTIM.format("np.int64(1) << 40"), "chose a victim that is no resident object"),
        (VICTIM.format("np.int64(st.node[1].prev) + (np.int64(1) << 32)"), "chose a victim that is no"),
        (VICTIM.format("np.float64(st.node[1].prev) + 0.5"), "chose a victim that is no resident object"),
        (VICTIM.format("-1"), "chose a victim that is no resident object"),
        (VICTIM.format("np.uint32(0xFFFFFFFF)"), "chose a victim that is no resident object"),
        (MISS.format("st.run[0].hits += 1"), "breaks a law of the engine"),
        (MISS.format("st.store[s].used = 0"), "breaks a law of the engine"),
        (MISS.format("st.store[s].count += 1"), "breaks a law of the engine"),
        (MISS.format("st.store[s].cap = 5"), "the capacity is what it was does not hold"),
        (MISS.format("st.run[0].refused = 1 // (st.store[s].count - st.store[s].count)"), "ZeroDivisionError"),
    ],
)
def test_a_policy_that_breaks_the_contract(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(LRU + text + "\n")
    assert said in refusal(file)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def REALS(slots, n_objects): return 1", "an admission filter has no REALS. It may keep numbers in WORDS"),
        ("def SPARE_NODES(slots, n_objects): return 1", "an admission filter has no SPARE_NODES"),
        ("def learn(st): return True", "an admission filter has no learn"),
        ("def WORDS(slots, n_objects): return 1", "an admission filter with WORDS must declare where they begin"),
        ('STORE_FIELDS = (("filter_words", np.uint8),)\ndef WORDS(slots, n_objects): return 1', "must declare where"),
        ("def admit(st, s, obj): return True", "admit must be a jitted function"),
        ('STORE_FIELDS = (("hand", np.uint8),)', "hand is declared twice by the policy and the filter"),
    ],
)
def test_a_filter_that_breaks_the_contract(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(FILTER + text + "\n")
    assert said in refusal(file, policy="sieve", admission=file)


def test_a_mistake_of_the_package_is_no_mistake_of_the_input(monkeypatch: pytest.MonkeyPatch) -> None:
    module = find("simcore.admission", "tinylfu")
    monkeypatch.setattr(module, "STORE_FIELDS", ())
    with pytest.raises(SimcoreError, match="must declare where they begin") as caught:
        check(module, engine.FILTER_VERBS, is_filter=True)
    assert not isinstance(caught.value, InputError) and not isinstance(broken(module, "is wrong"), InputError)
    monkeypatch.setattr(module, "WORDS", lambda slots, n_objects: -1)
    with pytest.raises(SimcoreError, match="WORDS must return"):
        asked(module, "WORDS", 1, 1)


@pytest.mark.parametrize("name", ['a"b.py', "a\\b'.py", 'a"""\nb.py', "ä b.c.py"])
def test_a_file_may_have_any_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(LRU)
    mine, lru = (replay(TRACE, [Tier(capacity=7, policy=policy)]) for policy in (tmp_path / name, "lru"))
    assert mine.tiers[0].hits == lru.tiers[0].hits and mine.tiers[0].evictions == lru.tiers[0].evictions


def test_an_interrupt_while_loading_stays_one(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("raise KeyboardInterrupt\n")
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            from_file("simcore.policies", file)


def test_a_curve_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "root", lambda: tmp_path / "curves")
    file = tmp_path / "mine.py"
    file.write_text(LRU + MISS.format("st.run[0].hits += 1"))
    with pytest.raises(InputError, match="mine at capacity 7: breaks a law of the engine") as caught:
        miss_ratio_curve(TRACE, [file], [7])
    assert caught.value.file == str(file)


def test_packaged_policies_are_not_counted_twice() -> None:
    (variant,) = lower.variants([Tier(capacity=7)], TRACE, tracked=False)
    assert not variant.checked and not variant.counted
