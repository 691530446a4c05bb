"""The command line: parses, wires, reports mistakes; the work is in `dse.commands`, imported when a command runs."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

from dse.commands.output import Output, report_error

app = typer.Typer(
    name="dse",
    help="Design-space exploration of tiered caches: latency against memory cost.",
    epilog="Start with: dse search spaces/kv_quickstart.yaml",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes on standard error.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="More detail; a traceback when something fails.")]
Set = Annotated[list[str], typer.Option("--set", metavar="PATH=VALUE", help="Pin a dotted path of the scenario; repeatable.")]
StudyName = Annotated[str, typer.Argument(metavar="STUDY", help="A name under studies/, or the path of a study folder.")]
Reader = Annotated[
    str | None, typer.Option(metavar="NAME", help="Format of the trace; default: by its content, then by its name.")
]
ReaderOption = Annotated[list[str], typer.Option(metavar="KEY=VALUE", help="Option of that format; repeatable.")]
_STORE = "Default: $MLFLOW_TRACKING_URI, else studies/mlflow.db."


def _version(wanted: bool) -> None:
    if wanted:
        from dse.versions import own_version

        Output.current().text(own_version())
        raise typer.Exit


traces = typer.Typer(help="Look at a recorded trace before it is simulated.", rich_markup_mode=None)
app.add_typer(traces, name="trace")


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Design-space exploration of tiered caches: latency against memory cost."""


@app.command()
def search(
    space: Annotated[str, typer.Argument(metavar="SPACE", help="A space file, or the name of a packaged one.")],
    trials: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Designs to evaluate in total, those already stored included."),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, metavar="N", help="Seed of the sampler.")] = None,
    sampler: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How designs are chosen; default: the study's, nsga2 in a new one."),
    ] = None,
    backend: Annotated[str, typer.Option(metavar="serial|process", help="Where designs are evaluated.")] = "serial",
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Processes of the process backend; default: all cores.")
    ] = None,
    storage: Annotated[str | None, typer.Option(metavar="URL", help="Optuna storage instead of the study's journal.")] = None,
    tracking_uri: Annotated[
        str | None, typer.Option(metavar="URI", help=f"MLflow store or server; none: do not record. {_STORE}")
    ] = None,
    study: Annotated[str | None, typer.Option(metavar="NAME", help="Name under studies/; default: the space's name.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the study of that name, or start it.")] = False,
    assignments: Set = [],  # noqa: B006  (typer copies it)
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Search a space for its Pareto front."""
    from dse.commands.search import Request, run

    request = Request(space, tuple(assignments), trials, seed, sampler, backend, workers, storage, tracking_uri, study, resume)
    return run(request, Output.current().configured(quiet=quiet, verbose=verbose))


@app.command()
def simulate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A scenario file, or studies/NAME/designs/NNN.yaml.")],
    assignments: Set = [],  # noqa: B006
    explain: Annotated[
        bool, typer.Option("--explain", help="Why: phases, misses, reuse, what limits it, the arithmetic.")
    ] = False,
    sweep: Annotated[
        list[str],
        typer.Option(
            metavar="PATH=VALUES", help="v1,v2,... or start:stop:n[:log]; twice: a line for each value of the second."
        ),
    ] = [],  # noqa: B006
    metric: Annotated[str, typer.Option(metavar="NAME", help="Of a sweep: what knee and cliff are about.")] = "ttft_p99",
    slo_share: Annotated[
        str, typer.Option(metavar="SHARE", help="Of a swept load: requests that must meet the scenario's slo.")
    ] = "90%",
    output: Annotated[
        list[Path], typer.Option(metavar="FILE", help="Of a sweep: also write FILE.png, .html or .json; repeatable.")
    ] = [],  # noqa: B006
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Simulate one scenario, or one design of a study on every member of its scenario set; or one at many settings."""
    from dse.commands.simulate import run, sweep_options

    to = Output.current().configured(quiet=quiet, verbose=verbose)
    if sweep_options(sweep, explain, metric, slo_share, output):
        from dse.commands.sweep import run as run_sweep

        return run_sweep(file, tuple(assignments), sweep, metric, slo_share, output, to)
    return run(file, tuple(assignments), explain, to)


@app.command()
def front(
    study: StudyName,
    every: Annotated[bool, typer.Option("--all", help="Every design of the front.")] = False,
    knee: Annotated[bool, typer.Option("--knee", help="Why the knee, and what the steps up and down cost.")] = False,
    where: Annotated[
        str | None, typer.Option(metavar="EXPR", help='Only designs that satisfy it: "hbm_cost_usd <= 800".')
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Print the front of a study."""
    from dse.commands.front import run

    return run(study, every, knee, where, Output.current().configured(quiet=quiet, verbose=verbose))


@app.command()
def report(study: StudyName, json: Json = False, quiet: Quiet = False, verbose: Verbose = False) -> int:
    """Write report.html of a study again and print where it is."""
    from dse.commands.report import run

    return run(study, Output.current().configured(quiet=quiet, verbose=verbose))


@app.command()
def mrc(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A recorded trace of any format simcore reads.")],
    policy: Annotated[
        list[str],
        typer.Option(metavar="A,B", help="Eviction policies, or the .py file of one, which is run; default: lru,belady."),
    ] = [],  # noqa: B006
    capacity: Annotated[
        list[str],
        typer.Option(metavar="C,C", help="Objects or blocks, or sizes (64GiB); default: from small to all, log-spaced."),
    ] = [],  # noqa: B006
    block_size: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Tokens of a block, of traces of prompts; default: as recorded.")
    ] = None,
    count: Annotated[str, typer.Option(metavar="blocks|tokens", help="What hits of prompts are counted in.")] = "blocks",
    order: Annotated[
        str | None, typer.Option(metavar="tail-first|chain", help="How a prompt's blocks are touched; default: tail-first.")
    ] = None,
    warmup: Annotated[str, typer.Option(metavar="50%|N", help="Requests at the start that are not counted.")] = "0",
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="A model preset or config.json: capacities in bytes of its KV cache.")
    ] = None,
    kv_format: Annotated[str | None, typer.Option(metavar="NAME", help="Format of that KV cache; default: bf16.")] = None,
    tiers: Annotated[
        list[str], typer.Option(metavar="C,C", help="An exclusive chain of LRU tiers, top to bottom; repeatable.")
    ] = [],  # noqa: B006
    splits: Annotated[bool, typer.Option("--splits", help="Every pair of the capacities as two exclusive LRU tiers.")] = False,
    sample: Annotated[
        str | None, typer.Option(metavar="RATE", help="Replay a share of the objects (10%) and estimate the error.")
    ] = None,
    admission: Annotated[str, typer.Option(metavar="NAME", help="Admission filter, or the .py file of one.")] = "none",
    param: Annotated[
        list[str], typer.Option(metavar="POLICY.KEY=VALUE", help="Parameter of a policy or filter; repeatable.")
    ] = [],  # noqa: B006
    ways: Annotated[int, typer.Option(min=0, metavar="N", help="Objects in a set; 0: fully associative.")] = 0,
    reader: Reader = None,
    option: ReaderOption = [],  # noqa: B006
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of random policies and of the sample.")] = 0,
    threads: Annotated[int | None, typer.Option(min=1, metavar="N", help="Replays at a time; default: all cores.")] = None,
    output: Annotated[list[Path], typer.Option(metavar="FILE", help="Also write FILE.png, .html or .json; repeatable.")] = [],  # noqa: B006
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Hit ratio against capacity of a trace, for any policies; and what each tier of a chain answers."""
    from dse.commands.mrc import Request, run

    arguments = {name: value for name, value in locals().items() if name in Request.__dataclass_fields__}
    return run(Request(**arguments), Output.current().configured(quiet=quiet, verbose=verbose))


@traces.callback()
def _traces() -> None:
    """Look at a recorded trace before it is simulated."""


@traces.command("describe")
def describe_trace(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A recorded trace of any format, compressed or not.")],
    reader: Reader = None,
    option: ReaderOption = [],  # noqa: B006
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Put a trace in numbers: format, arrivals, lengths, sizes, reuse, popularity, reuse distances.

    What a format does not tell is left out, and the reason given. The fields of the JSON object: docs/traces.md.
    """
    from dse.commands.trace import describe

    return describe(trace, reader, tuple(option), Output.current().configured(quiet=quiet, verbose=verbose))


@app.command()
def validate(
    system: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only what was published of this system, or by this source.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--traces", metavar="FOLDER", help="Public traces; rows that need another are skipped.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every point, not only the worst of its quantity.")] = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Published and measured quantities against ours. Status 1 if one misses its tolerance and is no known gap."""
    from dse.commands.validate import run

    return run(system, folder, every, Output.current().configured(quiet=quiet, verbose=verbose))


@app.command()
def size(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SCENARIO | -- COMMAND]", help="A scenario file; or after -- an engine's launch command."),
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="A model preset, hub id or config.json.")] = None,
    gpu: Annotated[str | None, typer.Option(metavar="NAME", help="A GPU preset or a YAML file; default: each preset.")] = None,
    tp: Annotated[int | None, typer.Option(min=1, metavar="N", help="Tensor-parallel GPUs.")] = None,
    pp: Annotated[int | None, typer.Option(min=1, metavar="N", help="Pipeline stages.")] = None,
    dp: Annotated[int | None, typer.Option(min=1, metavar="N", help="Data-parallel ranks, each with a pool.")] = None,
    ep: Annotated[bool, typer.Option("--ep", help="Whole experts on each GPU.")] = False,
    kv_format: Annotated[str | None, typer.Option(metavar="NAME", help="Format of the KV cache; default: bf16.")] = None,
    weight_format: Annotated[str | None, typer.Option(metavar="NAME", help="Default: that of the checkpoint.")] = None,
    max_model_len: Annotated[str | None, typer.Option(metavar="N", help="Tokens of the longest request (32K).")] = None,
    utilization: Annotated[
        float | None, typer.Option(min=0.001, max=1, metavar="F", help="gpu_memory_utilization; default: 0.9.")
    ] = None,
    pool: Annotated[
        str | None, typer.Option(metavar="SIZE", help="The pool of a GPU (18.78GiB), instead of what the rule leaves.")
    ] = None,
    tier: Annotated[
        list[str], typer.Option(metavar="NAME=SIZE", help="A tier below HBM: dram=64GiB, cxl, nvme, a preset; repeatable.")
    ] = [],  # noqa: B006
    concurrency: Annotated[
        list[str], typer.Option(metavar="N,N", help="Requests at once to size for; the largest must fit.")
    ] = [],  # noqa: B006
    compare: Annotated[list[str], typer.Option(metavar="A,B", help="KV formats to compare: size, decode rate, quality.")] = [],  # noqa: B006
    prefix: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Tokens that prompts share: how many can be reused.")
    ] = None,
    logged: Annotated[
        list[str],
        typer.Option(metavar="TOKENS@LENGTH", help="Pool tokens logged at a max length; with --pool; repeat."),
    ] = [],  # noqa: B006
    assignments: Set = [],  # noqa: B006
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """How many tokens and requests fit in this memory, with the arithmetic; what would make more room.

    Takes a scenario file, a model with a GPU, or a pasted command: dse size --gpu h100-sxm -- vllm serve MODEL ...
    """
    from dse.commands.size import Request, run

    request = Request(
        tuple(words or ()), model, gpu, tp, pp, dp, ep, kv_format, weight_format, max_model_len, utilization, pool, tuple(tier),
        tuple(concurrency), tuple(compare), prefix, tuple(logged), tuple(assignments),
    )  # fmt: skip
    return run(request, Output.current().configured(quiet=quiet, verbose=verbose))


@app.command()
def calibrate(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="CSV of runs, client results, logs, metrics.")],
    model: Annotated[str | None, typer.Option(metavar="NAME", help="A model preset or config.json.")] = None,
    gpu: Annotated[str | None, typer.Option(metavar="NAME", help="A GPU preset.")] = None,
    family: Annotated[str | None, typer.Option(metavar="NAME", help="vllm, sglang or trtllm; default: vllm.")] = None,
    tp: Annotated[int | None, typer.Option(min=1, metavar="N", help="Tensor-parallel GPUs.")] = None,
    pp: Annotated[int | None, typer.Option(min=1, metavar="N", help="Pipeline stages.")] = None,
    dp: Annotated[int | None, typer.Option(min=1, metavar="N", help="Data-parallel ranks.")] = None,
    ep: Annotated[bool, typer.Option("--ep", help="Whole experts on each GPU.")] = False,
    kv_format: Annotated[str | None, typer.Option(metavar="NAME", help="Format of the KV cache; default: bf16.")] = None,
    weight_format: Annotated[str | None, typer.Option(metavar="NAME", help="Default: that of the checkpoint.")] = None,
    client: Annotated[
        str | None, typer.Option(metavar="NAME", help="varied, fixed or lockstep clients; choose: what explains best.")
    ] = None,
    concurrency: Annotated[int | None, typer.Option(min=1, metavar="N", help="Requests in flight, if a file has none.")] = None,
    input_tokens: Annotated[int | None, typer.Option(min=1, metavar="N", help="Of a request, if a file has none.")] = None,
    output_tokens: Annotated[int | None, typer.Option(min=2, metavar="N", help="Of a request, if a file has none.")] = None,
    written: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Where the constants go; default: print them.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Fit constants to your measurements, with their errors, for engine.family: mine.yaml.

    Reads a CSV of runs, results of vllm bench serve and sglang.bench_serving, LMCache's transfer lines, vLLM's start-up log
    and metrics.
    """
    from dse.commands.calibrate import run

    said = {
        "model": model, "gpu": gpu, "family": family, "tp": tp, "pp": pp, "dp": dp, "ep": ep or None, "kv_format": kv_format,
        "weight_format": weight_format, "client": client, "concurrency": concurrency, "input_tokens": input_tokens,
        "output_tokens": output_tokens,
    }  # fmt: skip
    return run(files, said, written, Output.current().configured(quiet=quiet, verbose=verbose))


@app.command()
def presets(
    kind: Annotated[str | None, typer.Argument(metavar="[KIND]", help="models, gpus, tiers, workloads ...")] = None,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One preset.")] = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """List presets: numbers with units, source and date."""
    from dse.commands.presets import run

    return run(kind, name, Output.current().configured(quiet=quiet, verbose=verbose))


@app.command()
def ui(
    tracking_uri: Annotated[str | None, typer.Option(metavar="URI", help=f"MLflow store or server. {_STORE}")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, metavar="N", help="Default: 5000 if free; 0: any free one.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Open the record in MLflow: starts its server here and prints links to the right pages. Ctrl-C stops it."""
    from dse.commands.ui import run

    return run(tracking_uri, port, Output.current().configured(quiet=quiet, verbose=verbose))


def main(argv: list[str] | None = None) -> int:
    """Entry point of the console script; returns the exit status.

    0 done, 1 failure inside, 2 the user's input is wrong, 3 nothing feasible, 130 interrupted with everything stored.
    """
    gc.set_threshold(50_000, 20, 20)  # imports leave a million objects behind that are no garbage: 0.2 s of searching them
    if sys.stdout is None:  # closed: files that are opened would take its place and be printed into
        print("dse: standard output is closed", file=sys.stderr)
        return 2
    arguments = (sys.argv[1:] if argv is None else argv) or ["--help"]
    own = set(arguments[: arguments.index("--")] if "--" in arguments else arguments)  # what follows is a pasted command
    with Output.opened(json="--json" in own) as output:
        try:
            status = app(args=arguments, prog_name="dse", standalone_mode=False)
            return int(status or 0)
        except TyperException as mistake:
            return report_error(mistake, output)
        except Exception as error:
            return report_error(error, output, traceback={"-v", "--verbose"} & own != set())


if __name__ == "__main__":
    sys.exit(main())
