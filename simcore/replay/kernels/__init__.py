"""The loop of one tier. Loaded by `simcore.replay.engine` beside two generated modules: `verbs` (policy, filter and what is
compiled in) and `columns` (what is known of an access)."""
