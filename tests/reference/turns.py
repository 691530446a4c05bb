"""Turns of conversations by comparing each request with every earlier one."""


def naive_turns(prompts: list[list[int]], whole: list[int]) -> list[int]:
    """Of each prompt, whose first `whole` ids stand for filled granules: 1, or 1 + the turn of the one it continues."""
    turn: list[int] = []
    for r, (ids, n) in enumerate(zip(prompts, whole, strict=True)):
        best, length = 0, 1
        for earlier in range(r):
            m = whole[earlier]
            if m > 1 and m <= n and prompts[earlier][:m] == ids[:m] and m >= length:
                best, length = turn[earlier], m  # of equally long ones the latest
        turn.append(best + 1)
    return turn
