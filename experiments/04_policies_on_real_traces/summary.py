"""Tables and the picture of results.csv: python summary.py [FOLDER]."""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullLocator

KV, EMBEDDING, CLASSICAL = "KV", "embedding", "classical"
FAMILY = {
    "Mooncake conversation": KV,
    "Claude Code": KV,
    "mini-SWE agent": KV,
    "multi-agent web": KV,
    "DLRM table": EMBEDDING,
    "Scarab": EMBEDDING,
    "ReChorus items": EMBEDDING,
    "Criteo 26 tables": EMBEDDING,
}
TUNED_ON = ("Mooncake conversation", "Scarab")  # where the learned policy was looked at while it was made
BOUNDS = ("min", "belady")
ASKED_ABOUT = ("heavy_hitter", "persistence", "learned")
LEAST_GAP = 0.01  # of hit ratio: a narrower gap says nothing about who closes it

Cells = dict[tuple[str, str], dict[str, float]]  # (trace, share or capacity) -> policy -> hit ratio
Rows = list[dict[str, str]]


def read(folder: Path) -> Rows:
    with open(folder / "results.csv", newline="") as file:
        return list(csv.DictReader(file))


def cells_of(rows: Rows) -> Cells:
    """Hit ratios at the shares of the footprint; of traces with sizes once by count and once by bytes."""
    cells: Cells = defaultdict(dict)
    for row in rows:
        if row["share"]:
            sized = bool(row["byte_hit_ratio"])
            cells[row["trace"] + (": objects" if sized else ""), row["share"]][row["policy"]] = float(row["hit_ratio"])
            if sized:
                cells[row["trace"] + ": bytes", row["share"]][row["policy"]] = float(row["byte_hit_ratio"])
    return cells


def closed(ratios: dict[str, float]) -> dict[str, float]:
    """The share of the gap from LRU to Belady that each policy closes; empty where the gap is too narrow."""
    gap = ratios["belady"] - ratios["lru"]
    return {policy: (ratio - ratios["lru"]) / gap for policy, ratio in ratios.items()} if gap >= LEAST_GAP else {}


def by_trace(cells: Cells) -> dict[str, dict[str, list[float]]]:
    """trace -> policy -> shares closed, at the capacities with a gap."""
    found: dict[str, dict[str, list[float]]] = {}
    for (trace, _), ratios in cells.items():
        of_trace = found.setdefault(trace, defaultdict(list))
        for policy, share in closed(ratios).items():
            of_trace[policy].append(share)
    return {trace: dict(policies) for trace, policies in found.items() if policies}


def family_of(trace: str) -> str:
    return FAMILY.get(trace, CLASSICAL)


def mean(shares: dict[str, dict[str, list[float]]], policy: str, traces: list[str]) -> float:
    """Each trace weighs the same."""
    values = [np.mean(shares[trace][policy]) for trace in traces if policy in shares[trace]]
    return float(np.mean(values)) if values else np.nan


def ranking(shares: dict[str, dict[str, list[float]]]) -> list[str]:
    policies = {policy for of_trace in shares.values() for policy in of_trace}
    return sorted(policies, key=lambda policy: (policy not in BOUNDS, -mean(shares, policy, list(shares)), policy))


def percent(value: float) -> str:
    return "-" if np.isnan(value) else str(round(100 * value))


def table_of_shares(shares: dict[str, dict[str, list[float]]]) -> None:
    traces = list(shares)
    groups = [[t for t in traces if family_of(t) == family] for family in (KV, EMBEDDING, CLASSICAL)]
    untuned = [t for t in traces if t not in TUNED_ON]
    print("\n| policy | mean | median | worst cell | KV | embedding | classical | without Mooncake, Scarab | worst of those |")
    print("|---|---|---|---|---|---|---|---|---|")
    for policy in ranking(shares):
        worst, worst_untuned = (
            min((value for t in some for value in shares[t].get(policy, ())), default=np.nan) for some in (traces, untuned)
        )
        means = [mean(shares, policy, some) for some in (traces, *groups, untuned)]
        bound = " (bound)" if policy in BOUNDS else ""
        median = float(np.median([np.mean(shares[t][policy]) for t in traces if policy in shares[t]]))
        numbers = [means[0], median, worst, *means[1:], worst_untuned]
        print(f"| {policy}{bound} | " + " | ".join(map(percent, numbers)) + " |")


def table_of_mooncake(rows: Rows) -> None:
    ratios: dict[int, dict[str, float]] = defaultdict(dict)
    for row in rows:
        if row["trace"] == "Mooncake conversation":
            ratios[int(row["capacity"])][row["policy"]] = float(row["hit_ratio"])
    if not ratios:
        return
    capacities = sorted(ratios)
    print("\n| Mooncake, blocks | " + " | ".join(map(str, capacities)) + " |")
    print("|---" * (len(capacities) + 1) + "|")
    order = sorted(ratios[capacities[0]], key=lambda policy: -sum(ratios[c][policy] for c in capacities))
    for policy in order:
        print(f"| {policy} | " + " | ".join(f"{100 * ratios[c][policy]:.1f}" for c in capacities) + " |")


def table_of_learning(rows: Rows, shares: dict[str, dict[str, list[float]]]) -> None:
    print("\n| trace | gap closed, % | best other policy | trainings | CPU s for training | CPU s in all | LRU CPU s |")
    print("|---|---|---|---|---|---|---|")
    for trace, policies in shares.items():
        name = trace.split(":")[0]
        at = [row for row in rows if row["trace"] == name and row["share"]]
        learned, lru = ([row for row in at if row["policy"] == policy] for policy in ("learned", "lru"))
        others = {p: float(np.mean(v)) for p, v in policies.items() if p not in (*BOUNDS, "learned")}
        best = max(others, key=lambda policy: others[policy])
        costs = [
            "/".join(row["trainings"] for row in learned),
            *(f"{sum(float(row[key]) for row in learned):.1f}" for key in ("training_cpu_s", "cpu_s")),
            f"{sum(float(row['cpu_s']) for row in lru):.3f}",
        ]
        tuned = " (tuned on)" if trace in TUNED_ON else ""
        print(f"| {trace}{tuned} | {percent(float(np.mean(policies['learned'])))} | {best} {percent(others[best])} | ", end="")
        print(" | ".join(costs) + " |")


def picture(rows: Rows, shares: dict[str, dict[str, list[float]]], path: Path) -> None:
    """A map of policies by traces, and the curves of the trace with chains that is best known."""
    traces = sorted(shares, key=lambda trace: (KV, EMBEDDING, CLASSICAL).index(family_of(trace)))
    order = [policy for policy in ranking(shares) if policy != "belady"]
    closes = np.array([[np.mean(shares[t].get(policy, [np.nan])) for t in traces] for policy in order])
    figure, (left, right) = plt.subplots(1, 2, figsize=(19, 9.5), width_ratios=(2.3, 1), layout="constrained")
    left.imshow(np.clip(closes, -1, 1), cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
    for (i, j), value in np.ndenumerate(closes):
        left.text(j, i, percent(value), ha="center", va="center", fontsize=8, color="white" if abs(value) > 0.6 else "black")
    left.set_xticks(range(len(traces)), [f"{t} *" if t in TUNED_ON else t for t in traces], rotation=40, ha="right")
    left.set_yticks(range(len(order)), [f"{policy} (bound)" if policy in BOUNDS else policy for policy in order])
    for label, policy in zip(left.get_yticklabels(), order, strict=True):
        label.set_fontweight("bold" if policy in ASKED_ABOUT else "normal")
    for j in range(1, len(traces)):
        if family_of(traces[j]) != family_of(traces[j - 1]):
            left.axvline(j - 0.5, color="black")
    left.axhline(0.5, color="black")
    left.set_title(
        "Share of the gap from LRU to Belady that a policy closes, %\n"
        "mean over caches of 1, 5, 10, 25 % of the footprint; below 0: worse than LRU\n"
        "* the learned policy was tuned while looking at this trace",
        loc="left",
    )
    _curves(right, rows)
    figure.savefig(path, dpi=90)
    plt.close(figure)


def _curves(axes: plt.Axes, rows: Rows) -> None:
    bold = {"belady": "black", "min": "grey", "lru": "tab:blue"}
    bold |= dict(zip(ASKED_ABOUT, ("tab:orange", "tab:green", "tab:red"), strict=True))
    curves: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for row in rows:
        if row["trace"] == "Mooncake conversation":
            curves[row["policy"]].append((int(row["capacity"]), 100 * float(row["hit_ratio"])))
    for policy, points in curves.items():
        style = {"color": bold.get(policy, "lightgrey"), "lw": 2 if policy in bold else 1, "zorder": 3 if policy in bold else 1}
        label = f"{policy} (heuristic here)" if policy in BOUNDS else policy
        dashes = "--" if policy in BOUNDS else "-"
        axes.plot(*zip(*sorted(points), strict=True), dashes, label=label if policy in bold else None, **style)
    if not curves:
        axes.set_axis_off()
        return
    axes.plot([], [], color="lightgrey", label="the others")
    axes.set_xscale("log")
    at = sorted({capacity for points in curves.values() for capacity, _ in points})
    axes.set_xticks(at, [f"{capacity / 1000:.1f}k" for capacity in at], rotation=60)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("blocks of 512 tokens")
    axes.set_ylabel("blocks hit, %")
    axes.set_title("Mooncake conversation, prefix chains", loc="left")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncol=3)


def main(folder: Path) -> None:
    rows = read(folder)
    shares = by_trace(cells_of(rows))
    table_of_shares(shares)
    table_of_mooncake(rows)
    table_of_learning(rows, shares)
    picture(rows, shares, folder / "gap_closed.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
