"""The Optuna storage that samplers ask on: the told trials, and behind them the trials asked in the batch under way.

Optuna's own storages cannot drop or correct a trial, so a proposal that is replaced would stay behind as a trial of its
own. Here the asked ones can be taken back. Holds one study; trial ids are trial numbers. Nothing is kept on disk."""

from __future__ import annotations

import copy
from collections.abc import Container, Mapping, Sequence
from datetime import datetime
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.storages import BaseStorage
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

STUDY_ID = 0


class Sheet(BaseStorage):  # type: ignore[misc]
    """See the module. Trials are replaced, never changed in place, because Optuna keeps references to them."""

    def __init__(self) -> None:
        self._trials: list[FrozenTrial] = []
        self._name = ""
        self._directions: list[StudyDirection] = []
        self._user_attrs: dict[str, Any] = {}
        self.system_attrs: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self._trials)

    def cut(self, count: int) -> None:
        """Keep the first `count` trials."""
        del self._trials[count:]

    def correct(self, number: int, params: Mapping[str, Any], distributions: Mapping[str, BaseDistribution]) -> None:
        """Give a running trial another design."""
        self._replace(number, params=dict(params), distributions=dict(distributions))

    def create_new_study(self, directions: Sequence[StudyDirection], study_name: str | None = None) -> int:
        self._name, self._directions = study_name or "", list(directions)
        return STUDY_ID

    def delete_study(self, study_id: int) -> None:
        self._trials.clear()

    def set_study_user_attr(self, study_id: int, key: str, value: Any) -> None:
        self._user_attrs = {**self._user_attrs, key: value}

    def set_study_system_attr(self, study_id: int, key: str, value: Any) -> None:
        self.system_attrs = {**self.system_attrs, key: value}

    def get_study_id_from_name(self, study_name: str) -> int:
        if study_name != self._name:
            raise KeyError(study_name)
        return STUDY_ID

    def get_study_name_from_id(self, study_id: int) -> str:
        return self._name

    def get_study_directions(self, study_id: int) -> list[StudyDirection]:
        return self._directions

    def get_study_user_attrs(self, study_id: int) -> dict[str, Any]:
        return self._user_attrs

    def get_study_system_attrs(self, study_id: int) -> dict[str, Any]:
        return self.system_attrs

    def get_all_studies(self) -> list[Any]:
        return []

    def create_new_trial(self, study_id: int, template_trial: FrozenTrial | None = None) -> int:
        number = len(self._trials)
        if template_trial is None:
            trial = FrozenTrial(
                number=number,
                trial_id=number,
                state=TrialState.RUNNING,
                value=None,
                datetime_start=datetime.now(),
                datetime_complete=None,
                params={},
                distributions={},
                user_attrs={},
                system_attrs={},
                intermediate_values={},
            )
        else:
            trial = copy.copy(template_trial)
            trial.number = trial._trial_id = number
        self._trials.append(trial)
        return number

    def set_trial_param(
        self, trial_id: int, param_name: str, param_value_internal: float, distribution: BaseDistribution
    ) -> None:
        trial = self._trials[trial_id]
        value = distribution.to_external_repr(param_value_internal)
        self._replace(
            trial_id,
            params={**trial.params, param_name: value},
            distributions={**trial.distributions, param_name: distribution},
        )

    def set_trial_state_values(self, trial_id: int, state: TrialState, values: Sequence[float] | None = None) -> bool:
        self._replace(trial_id, state=state, values=values)
        return True

    def set_trial_intermediate_value(self, trial_id: int, step: int, intermediate_value: float) -> None:
        values = {**self._trials[trial_id].intermediate_values, step: intermediate_value}
        self._replace(trial_id, intermediate_values=values)

    def set_trial_user_attr(self, trial_id: int, key: str, value: Any) -> None:
        self._replace(trial_id, user_attrs={**self._trials[trial_id].user_attrs, key: value})

    def set_trial_system_attr(self, trial_id: int, key: str, value: Any) -> None:
        self._replace(trial_id, system_attrs={**self._trials[trial_id].system_attrs, key: value})

    def get_trial(self, trial_id: int) -> FrozenTrial:
        return self._trials[trial_id]

    def get_all_trials(
        self, study_id: int, deepcopy: bool = True, states: Container[TrialState] | None = None
    ) -> list[FrozenTrial]:
        trials = [t for t in self._trials if t.state in states] if states is not None else list(self._trials)
        return copy.deepcopy(trials) if deepcopy else trials

    def _replace(self, number: int, **fields: Any) -> None:
        trial = copy.copy(self._trials[number])
        for name, value in fields.items():
            setattr(trial, name, value)
        self._trials[number] = trial
