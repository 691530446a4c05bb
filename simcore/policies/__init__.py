"""Eviction policies: one file each, found by file name. The engine owns residency, pins and bytes; a policy owns order.

A policy module defines jitted verbs (`simcore.kernel.kernel`) over `st`, the state of the engine, `s`, the number of a store,
and `i`, the slot of a resident object in that store (never 0):

    init(st, s)               once, before anything else; the store is empty
    on_hit(st, s, i)          a request refers to a resident object; it may be pinned
    on_miss(st, s, obj)       object number `obj`, absent, is about to enter; comes before the room for it is made
    choose_victim(st, s)      slot of an unpinned object to evict, or 0 (REJECT): keep what is there, the newcomer stays out.
                              Called only while the store holds an unpinned object. An HBM pool cannot refuse a newcomer: there
                              REJECT is an error. The engine then calls on_evict for the slot
    on_insert(st, s, i)       the object has entered, unpinned
    on_evict(st, s, i)        the object leaves (evicted, or moved to another store); it is not pinned
    on_pin(st, s, i)          the first pin: a running sequence needs it. Left out: on_evict, the object leaves the order
    on_release(st, s, i)      the last pin is gone. Left out: on_insert, the object enters the order as the newest

An object that enters pinned is inserted, then pinned; of a policy that leaves out on_pin and on_release neither verb is called.

and data:

    FIELDS = (("visited", np.uint8), ...)     per-object fields of its own, read as st.node[i].visited
    STORE_FIELDS = (("hand", np.uint32), ...) per-store fields of its own, read as st.store[s].hand (optional)
    INSERTION_ORDER_WITHOUT_HITS = True       without hits it evicts in order of insertion (optional): where objects leave at
                                              their first hit, such policies are one and are searched once
    NEEDS = frozenset()                       what it must know beyond the verbs' arguments; an engine without it refuses

Every engine gives: st.node[i].prev, .next (for the lists of `simcore.kernel`), .obj, .pins (0 where nothing pins), and
st.store[s].heads (LIST_HEADS list heads), .cap, .count. FIELDS of a slot are left over from its last object: on_insert sets
them; STORE_FIELDS, and FIELDS of list heads, start at 0. The docstring names the paper and states every deviation.
"""
