"""Admission filters: one file each, found by file name. A filter says which absent objects may enter a store at all.

A filter module defines jitted verbs over the same state as eviction policies (see `simcore.policies`):

    init(st, s)                     once, before anything else
    on_access(st, s, obj)           object number `obj` is asked for, present or not
    admit(st, s, obj) -> bool       may the absent object enter? Asked before room is made; `incoming_size(st)` is its size
    prefer(st, s, obj, i) -> bool   may it take the place of the object in slot i, the policy's choice? Asked for each victim

and data as policies do: `Params`, STORE_FIELDS, OBJECT_FIELDS, WORDS, NEEDS, each name beginning with the filter's own.
A filter with WORDS declares ("filter_words", np.uint64) among its STORE_FIELDS: where they begin in `st.words`. It has
no REALS, SPARE_NODES or learn.
"""
