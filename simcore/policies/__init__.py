"""Eviction policies: one file each, found by file name. The engine owns residency, pins and bytes; a policy owns order.

A policy module defines jitted verbs (`simcore.kernel.kernel`) over `st`, the state of the engine, `s`, the number of a store,
and `i`, the slot of a resident object in that store (never 0):

    init(st, s)               once, before anything else; the store is empty
    on_hit(st, s, i)          a request refers to a resident object; it may be pinned
    on_miss(st, s, obj)       object number `obj`, absent, is about to enter; comes before the room for it is made
    choose_victim(st, s)      slot of an unpinned object to evict, or 0 (REJECT): keep what is there, the newcomer stays out.
                              Called only while the store holds an unpinned object. The engine then calls on_evict for the slot.
                              With object sizes it is called again until there is room; evictions made before a REJECT stand
    on_insert(st, s, i)       the object has entered, unpinned
    on_evict(st, s, i)        the object leaves (evicted, or moved to another store); it is not pinned
    on_pin(st, s, i)          the first pin: a running sequence needs it. Left out: on_evict, the object leaves the order
    on_replace(st, s, i)      what on_evict and then on_insert would do for an object that takes the slot of the chosen victim,
                              where that is less work; st.node[i].obj is the newcomer's. Left out: those two are called
    on_release(st, s, i)      the last pin is gone. Left out: on_insert, the object enters the order as the newest

An object that enters pinned is inserted, then pinned; of a policy that leaves out on_pin and on_release neither verb is called.
A policy may also define

    surplus(st, s)            slot of an unpinned object that leaves although there is room, or 0. Called where objects have
                              sizes, after on_hit and on_insert, until it returns 0; the engine calls on_evict for each slot

A policy that remembers more of an object than its place in a list (how often it was used, ghosts) defines both, so that a pin
only takes the object out of the order and a release brings it back as what it was.

and data, all but NEEDS and FIELDS optional:

    NEEDS = frozenset({"next_use"})           what it must know of an access, read as st.event[0].next_use; an engine without it
                                              refuses. Known: next_use (when the object is asked for next, in touches, 2^62 if
                                              never), clock (touches so far), units (its size; a trace without is refused),
                                              depth (place in the request), request (its number), category (kind of request, or
                                              table), time_s. In on_hit, on_miss and on_insert they are those of the object; in
                                              choose_victim those of the newcomer
    FIELDS = (("visited", np.uint8), ...)     per slot, st.node[i].visited; start at 0, later left over from the slot's
                                              last object: on_insert sets what matters
    STORE_FIELDS = (("hand", np.uint32), ...) per store, st.store[s].hand; start at 0
    OBJECT_FIELDS = (("ghost", np.uint32),)   per object, present or absent, st.object[about(st, s, obj)].ghost; start at 0
    SPARE_NODES(slots, n_objects) -> int      list nodes beyond the slots, st.node[st.store[s].spare + k]; `slots` is the most
                                              objects that can be resident. Their FIELDS start at 0
    WORDS(slots, n_objects) -> int            u4 numbers of its own, st.words[st.store[s].words + k]; start at 0
    REALS(slots, n_objects) -> int            f8 numbers of its own, st.reals[st.store[s].reals + k]; start at 0
    class Params(Spec)                        parameters (float, int, bool), each read as st.store[s].<name>
    MAY_REFUSE = True                         choose_victim may return REJECT where objects have no sizes. An HBM pool must take
                                              what running sequences compute, so it refuses the policy
    UNIT_SIZES_ONLY = True                    it has no meaning for objects of different sizes; refused with them
    ONE_STORE_ONLY = True                     it has no meaning for a cache divided into sets; refused with them
    learn(st) -> bool, LEARN_EVERY            a plain function, called between chunks of at most LEARN_EVERY accesses: it may
                                              look at the state and write its own part, and says whether it trained
    INSERTION_ORDER_WITHOUT_HITS = True       without hits it evicts in order of insertion: where objects leave at their first
                                              hit, such policies are one and are searched once

Every engine gives: st.node[i].prev, .next (for the lists of `simcore.kernel`), .obj; `list_head(st, s, number)` (LIST_HEADS of
them); st.store[s].cap (capacity: objects, or bytes where they have sizes), .used (of it), .count (objects), .first (slot),
.slots, .spares; and the verbs `pinned(st, i)`, `size_of(st, i)` and `incoming_size(st)` (1 where objects have no sizes),
`random_below(st, s, n)`, `steady(st)` (objects leave their slots only for others: `slot_after` may then stand for a list).
An object keeps the size with which it entered until it leaves. An object larger than the store never enters; no verb is called.
Names of fields and parameters are one namespace, shared with the engine and the admission filter.

Shared structures: `simcore.heap` (priority queue), `simcore.ghosts` (memory of objects that left), `simcore.sketch` (frequency
estimates). The docstring names the paper, its algorithm or equation, and every deviation; also, where other simulators count
otherwise, which side the paper supports.
"""
