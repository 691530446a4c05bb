"""Moving what is known of an access between arrays, records and tiers."""

from simcore.kernel import Int, Slot, State, inlined


@inlined
def observe(st: State, k: Int) -> None:
    pass


@inlined
def carry(st: State, i: Slot) -> None:
    pass


@inlined
def carry_again(st: State, i: Slot) -> None:
    pass


@inlined
def send(st: State, obj: Int, kind: int, place: Int) -> None:
    o = st.run[0].out
    st.run[0].out = o + 1
    st.out_kind[o] = kind
    st.out_ids[o] = obj
    st.out_place[o] = place


@inlined
def send_carried(st: State, i: Slot, kind: int) -> None:
    o = st.run[0].out
    st.run[0].out = o + 1
    st.out_kind[o] = kind
    st.out_ids[o] = st.node[i].obj
    st.out_place[o] = 0
