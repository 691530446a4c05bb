"""The next batch of designs: a sampler is asked, and what it repeats or may not propose is replaced. No design comes
twice.

Everything here is a function of the seed and the told trials alone, so a search that was killed goes on with the same
designs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import optuna
from optuna.samplers import RandomSampler
from optuna.search_space import IntersectionSearchSpace
from optuna.trial import FrozenTrial, create_trial

from dse.asking import scripted
from dse.asking.scripted import Proposal
from dse.asking.sheet import STUDY_ID, Sheet
from dse.front import targets
from dse.samplers import _seam as samplers
from dse.samplers._seam import Ask
from simcore.errors import InputError, SimcoreError

if TYPE_CHECKING:
    from dse.space import Space

ASKS = 4
"""How often a sampler without a limit is asked for one trial."""
MUTATIONS = 16
DRAWS = 1000
ENUMERABLE = 4096
"""Spaces up to this size are searched systematically for a design that is left, larger ones by `DRAWS` random draws first."""
WALKABLE = 50_000
REHEARSAL = 12
"""More trials than any sampler of Optuna wants before it starts modelling."""
_REPLACING, _ORDERING = 1 << 20, 1 << 21
"""Streams of the seed that no attempt uses."""
KEY, ASKED, STATE, DUPLICATES = "key", "asks", "sampler_state", "duplicates"


@dataclass(frozen=True)
class Asked:
    """A design to evaluate.

    Args:
        number: of the trial it will be.
        proposal: the design.
        key: hash of the canonical design.
        duplicates: repeats that were dropped before it.
        asks: asks of the search so far.
        system_attrs: what the sampler noted about the trial.
        state: what the sampler noted about the study since the last trial.
    """

    number: int
    proposal: Proposal
    key: str
    duplicates: int
    asks: int
    system_attrs: Mapping[str, Any]
    state: Mapping[str, Any]

    @property
    def attrs(self) -> dict[str, Any]:
        """What must be stored with the trial so that `Asker.tell` can go on from it."""
        attrs = {KEY: self.key, ASKED: self.asks, DUPLICATES: self.duplicates}
        return {**attrs, STATE: dict(self.state)} if self.state else attrs


class Asker:
    """Proposes batches of new designs.

    Args:
        space: what is searched.
        sampler: name of the sampler.
        seed: of the search.

    Raises:
        InputError: no such sampler, or it cannot search this space.
    """

    def __init__(self, space: Space, sampler: str, seed: int) -> None:
        self._space, self._seed = space, seed
        self._sampler = samplers.find(sampler, space)
        self._reset()
        if self._sampler.foreign:
            self._rehearse()

    def _reset(self) -> None:
        self._sheet = Sheet()
        self._study = new_study(self._space, self._sheet)
        self._common = IntersectionSearchSpace()
        self._told = 0
        self._asks = 0
        self._seen: set[str] = set()
        self._keys: dict[tuple[Any, ...], str | None] = {}
        self._order: list[Proposal] | None = None
        self.exhausted: str | None = None

    def _rehearse(self) -> None:
        """Ask a sampler that is not ours once behind made-up trials: what it lacks shows before anything is evaluated."""
        rng = np.random.default_rng(0)
        with quiet():
            for _ in range(REHEARSAL):
                made_up = scripted.draw(self._space, rng)
                values = rng.random(len(self._study.directions)).tolist()
                self._study.add_trial(
                    create_trial(params=dict(made_up.params), distributions=dict(made_up.distributions), values=values)
                )
            self._sampled(len(self._sheet), 0)
        self._reset()

    def tell(self, trials: Sequence[FrozenTrial]) -> None:
        """Take in finished trials, the next ones in order; asked ones that are not told are forgotten."""
        self._sheet.cut(self._told)
        for trial in trials:
            self._study.add_trial(trial)
            self._seen.add(trial.user_attrs[KEY])
            self._asks = trial.user_attrs[ASKED]
            for name, value in trial.user_attrs.get(STATE, {}).items():
                self._sheet.set_study_system_attr(STUDY_ID, name, value)
        self._told = len(self._sheet)

    def ask(self, count: int) -> list[Asked]:
        """Up to `count` designs that were never told nor asked. Fewer only if the space has no more; `exhausted` then
        says so.

        Raises:
            InputError: the sampler cannot search this space, or no design satisfies the constraints on paths.
            SimcoreError: the sampler failed.
        """
        batch: list[Asked] = []
        with quiet():
            for number in range(self._told, self._told + count):
                asked = self._ask(number)
                if asked is None:
                    break
                self._seen.add(asked.key)
                batch.append(asked)
        if not batch and not self._seen:
            raise InputError("no design of the space satisfies the constraints on paths", file=self._space.file)
        return batch

    def _ask(self, number: int) -> Asked | None:
        state, duplicates, last = dict(self._sheet.system_attrs), 0, None
        for attempt in self._attempts():
            proposal = self._sampled(number, attempt)
            key = self._key(proposal)
            if key is not None and key not in self._seen:
                return self._asked(number, proposal, key, duplicates, state)
            duplicates += key is not None
            last = proposal
            if self._sampler.limit is not None:
                self._sheet.cut(number)
        if last is None or self._sampler.limit is not None:
            self.exhausted = f"the sampler {self._sampler.name} has no further design; {len(self._seen)} were evaluated"
            return None
        found = self._replacement(number, last)
        if found is None:
            self._sheet.cut(number)
            return None
        proposal, key = found
        self._sheet.correct(number, proposal.params, proposal.distributions)
        return self._asked(number, proposal, key, duplicates, state)

    def _attempts(self) -> Iterator[int]:
        limit = self._sampler.limit
        attempt = 0
        while self._asks < limit if limit is not None else attempt < ASKS:
            yield attempt
            attempt += 1

    def _sampled(self, number: int, attempt: int) -> Proposal:
        """One ask; its trial stands on the sheet as running."""
        self._sheet.cut(number)
        ask = Ask(self._space, self._seed, number, attempt, self._asks, self._common)
        self._asks += 1
        try:
            self._study.sampler = self._sampler.create(ask)
            trial = self._study.ask()
            point = self._space.suggest(trial)
        except SimcoreError:
            raise
        except Exception as error:
            raise sampler_error(self._sampler, error) from error
        frozen = self._sheet.get_trial(number)
        return Proposal(frozen.params, frozen.distributions, point)

    def _asked(self, number: int, proposal: Proposal, key: str, duplicates: int, before: Mapping[str, Any]) -> Asked:
        after = self._sheet.system_attrs
        state = {name: value for name, value in after.items() if name not in before or before[name] != value}
        attrs = self._sheet.get_trial(number).system_attrs
        return Asked(number, proposal, key, duplicates, self._asks, attrs, state)

    def _key(self, proposal: Proposal) -> str | None:
        """The canonical key of a design; None if it breaks a constraint on paths."""
        index = tuple(proposal.params.items())
        if index not in self._keys:
            allowed = self._space.satisfies_paths(proposal.point)
            self._keys[index] = self._space.key(proposal.point) if allowed else None
        return self._keys[index]

    def _replacement(self, number: int, base: Proposal) -> tuple[Proposal, str] | None:
        """A new design: near what the sampler wanted, else anywhere; None, and `exhausted`, if none is left."""
        for proposal in self._others(number, base):
            key = self._key(proposal)
            if key is not None and key not in self._seen:
                return proposal, key
        return None

    def _others(self, number: int, base: Proposal) -> Iterator[Proposal]:
        rng = np.random.default_rng(np.random.SeedSequence([self._seed, number, _REPLACING]))
        for i in range(MUTATIONS):
            yield scripted.mutate(self._space, rng, base, 1 + i // 4)
        size = self._space.size()
        if size is None or size > ENUMERABLE:
            for _ in range(DRAWS):
                yield scripted.draw(self._space, rng)
        if size is None or size > WALKABLE:
            self.exhausted = f"no further design was found in {DRAWS} draws; {len(self._seen)} were evaluated"
            return
        yield from self._everything()
        self.exhausted = f"all {len(self._seen)} designs evaluated"

    def _everything(self) -> list[Proposal]:
        """Every design of the space, in an order that depends on the seed."""
        if self._order is None:
            rng = np.random.default_rng(np.random.SeedSequence([self._seed, _ORDERING]))
            designs = list(scripted.walk(self._space))
            self._order = [designs[i] for i in np.argsort(rng.random(len(designs)), kind="stable")]
        return self._order


def new_study(space: Space, sheet: Sheet) -> optuna.Study:
    """An Optuna study of the space's targets on a sheet."""
    directions = ["maximize" if target.metric.direction == "max" else "minimize" for target in targets(space)]
    with quiet():
        return optuna.create_study(storage=sheet, study_name=space.name, directions=directions, sampler=RandomSampler(seed=0))


def sampler_error(sampler: samplers.Sampler, error: Exception) -> SimcoreError:
    """What a failing sampler means to the user."""
    if isinstance(error, ImportError):
        missing = f"install it: pip install {error.name}" if error.name else "install what it names"
        return InputError(f"sampler {sampler.name} needs a package that is not installed ({error})", hint=missing)
    message = " ".join(str(error).split())
    if sampler.foreign:
        return InputError(f"sampler {sampler.name} cannot search this space: {message}", hint="use nsga2, tpe or random")
    return SimcoreError(f"sampler {sampler.name} failed: {type(error).__name__}: {message}")


@contextmanager
def quiet() -> Iterator[None]:
    """Optuna without its log lines and its notes on experimental parts."""
    logger = optuna.logging.get_logger("optuna")
    level = logger.level
    logger.setLevel(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        logger.setLevel(level)
