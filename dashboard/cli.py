"""``sense7``: parse, call one function, print. Results go to standard output, progress and refusals to standard error."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dashboard import __version__, paths
from dashboard.vocabulary import Refused, unknown_name

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.analyses.findings import Analysis, Findings, Parameters, Selection
    from dashboard.database import Database

app = typer.Typer(
    name="sense7",
    help="Explore, check and extend the findings of SENSE-7 and of data in its shape.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

DataOption = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="Folder that import or sample wrote; by default SENSE7_DATA, else data/release, else the sample.",
    ),
]
ParameterOption = Annotated[
    list[str] | None,
    typer.Option("-p", "--parameter", metavar="KEY=VALUE", help="A filter or parameter; may be repeated."),
]
OutOption = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to this file.")]
WidthOption = Annotated[
    str, typer.Option("--width", metavar="single|double|MM", help="One column, two columns, or so many mm.")
]
StyleOption = Annotated[str, typer.Option("--style", help="ieee, acm, nature, apa or plain.")]
DpiOption = Annotated[float, typer.Option("--dpi", metavar="N", help="Dots per inch of PNG.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object or array.")]


_STOPPED = "sense7: stopped; nothing was half-written."


def main() -> None:
    """Run the command line; a refusal is a sentence on standard error and exit status 2."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
    try:
        app(standalone_mode=True)
    except Refused as refusal:
        _say(f"sense7: {refusal}")
        sys.exit(2)
    except KeyboardInterrupt:
        _say(_STOPPED)
        sys.exit(130)
    except SystemExit as end:
        # Typer takes Ctrl-C without a word.
        if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):
            _say(_STOPPED)
        raise
    except Exception as error:
        # What DuckDB makes of a Ctrl-C that comes while it works.
        if type(error).__name__ == "InterruptException" or str(error) == "Query interrupted":
            _say(_STOPPED)
            sys.exit(130)
        if os.environ.get("SENSE7_DEBUG"):
            raise
        _say(
            f"sense7: this should not have happened ({type(error).__name__}: {error}). It is a fault of the program, "
            "not of your data; nothing was half-written. Set SENSE7_DEBUG=1 to see where."
        )
        sys.exit(2)


def _stop(*_: object) -> None:
    from dashboard.database import interrupt_queries

    interrupt_queries()
    raise KeyboardInterrupt


def _version(show: bool) -> None:
    if show:
        print(f"sense7 {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Explore, check and extend the findings of SENSE-7 and of data in its shape."""


@app.command()
def run(
    data: DataOption = None,
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Port of the local server.")] = 8501,
    headless: Annotated[bool, typer.Option("--headless", help="Open no browser.")] = False,
) -> None:
    """Start the dashboard."""
    from dashboard.database import read_manifest

    folder = _folder(data)
    manifest = read_manifest(folder)
    _check_port(port)
    title = manifest.get("title") or folder.name
    # Looked at in a browser, so it goes with progress, not with results.
    _say(f"{title}: the dashboard is at http://localhost:{port}. Ctrl-C stops it.")
    os.environ["SENSE7_DATA"] = str(folder)
    os.environ[paths.STARTED] = str(time.time())
    # Streamlit reads .streamlit/config.toml from its working directory.
    os.chdir(paths.ROOT)
    arguments = [
        *(sys.executable, "-m", "streamlit", "run", str(paths.SERVER)),
        *("--server.port", str(port), "--server.headless", "true" if headless else "false"),
        *("--server.showEmailPrompt", "false"),
    ]
    if os.name == "posix":
        sys.stdout.flush()
        os.execv(sys.executable, arguments)
    import subprocess

    raise typer.Exit(subprocess.run(arguments, check=False).returncode)


def _check_port(port: int) -> None:
    """Refuse a port that another program listens on; Streamlit would end without a sentence of ours."""
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tried:
        tried.settimeout(1)
        if tried.connect_ex(("127.0.0.1", port)) == 0:
            raise Refused(
                f"The dashboard needs a port of its own; another program, perhaps a dashboard that is still running, "
                f"answers at {port}. Stop it, or choose another port with --port."
            )


@app.command(name="import")
def import_(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="Workbook, folder, or csv, jsonl, parquet file.")],
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Default: data/release.")] = None,
    mapping: Annotated[
        Path | None, typer.Option("--mapping", metavar="FILE", help="TOML that maps other data.")
    ] = None,
    lenient: Annotated[
        bool,
        typer.Option("--lenient", help="Unreadable cells become missing; messages of unknown TaskIds are set aside."),
    ] = False,
    release: Annotated[bool, typer.Option("--release", help="State that this is the official release.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Turn a workbook or other rated conversations into checked parquet, all or nothing."""
    from dashboard.intake import import_source

    report = import_source(
        source,
        out or paths.release_folder(Path.cwd()),
        mapping=mapping,
        lenient=lenient,
        release=release,
        progress=_say,
    )
    _print(_as_json(report.to_json()) if as_json else report.to_text())


@app.command()
def fetch(
    url: Annotated[str | None, typer.Option("--url", metavar="URL", help="Default: the release on GitHub.")] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Default: data/release.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Download the released workbook and import it as the release."""
    from dashboard.intake import fetch_release

    report = fetch_release(url, out or paths.release_folder(Path.cwd()), progress=_say)
    _print(_as_json(report.to_json()) if as_json else report.to_text())


@app.command()
def sample(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write.")],
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Another seed gives other data.")] = None,
    scale: Annotated[int, typer.Option("--scale", min=1, help="So many times as many participants.")] = 1,
    text: Annotated[bool, typer.Option(" /--no-text", help="Leave all text empty.")] = True,
) -> None:
    """Write synthetic data with known effects."""
    from dashboard.intake.sample import write_sample

    chosen = {} if seed is None else {"seed": seed}
    manifest = write_sample(folder, scale=scale, text=text, progress=_Progress("sample"), **chosen)
    counts = manifest["counts"]
    _print(
        f"SYNTHETIC data in {folder}: {counts['participants']:,} participants, {counts['conversations']:,} "
        f"conversations, {counts['messages']:,} messages, {counts['rated_turns']:,} rated turns."
    )


@app.command()
def check(data: DataOption = None, as_json: JsonOption = False) -> None:
    """Check the data's quality; exit status 1 when it has errors."""
    from dashboard.database import read_manifest
    from dashboard.intake import check_dataset

    folder = _folder(data)
    read_manifest(folder)
    report = check_dataset(folder)
    _print(_as_json(report.to_json()) if as_json else report.to_text())
    if report.has_errors:
        raise typer.Exit(1)


@app.command(name="list")
def list_(as_json: JsonOption = False) -> None:
    """List every analysis with its page, tables, figures and parameters."""
    from dashboard.analyses import registry

    described = [_describe(one) for one in registry().values()]
    if as_json:
        _print(_as_json(described))
        return
    lines = []
    for one in described:
        lines.append(f"{one['name']} — {one['question']} ({one['page']})")
        lines += [f"  {kind[:-1]} {name}: {what}" for kind in ("tables", "figures") for name, what in one[kind].items()]
        lines += [f"  -p {item['name']}={item['values']}" for item in one["parameters"]]
    _print("\n".join(lines))


@app.command()
def table(
    name: Annotated[str, typer.Argument(metavar="NAME", help="An analysis, or analysis.part; see sense7 list.")],
    parameter: ParameterOption = None,
    data: DataOption = None,
    format: Annotated[str, typer.Option("--format", help="csv, json, md, latex, html, docx or parquet.")] = "csv",
    output: OutOption = None,
) -> None:
    """Print or write one table."""
    from dashboard.export import TABLE_FORMATS

    if format not in TABLE_FORMATS:
        raise unknown_name("table format", format, TABLE_FORMATS)
    database = _open(data)
    frame, caption = _table(database, name, parameter or [])
    _deliver(frame, name, format, output, caption=caption)


@app.command()
def figure(
    name: Annotated[str, typer.Argument(metavar="NAME", help="An analysis, or analysis.part; see sense7 list.")],
    parameter: ParameterOption = None,
    data: DataOption = None,
    format: Annotated[str, typer.Option("--format", help="pdf, svg, png, html, json; csv, parquet: its data.")] = "pdf",
    width: WidthOption = "single",
    style: StyleOption = "ieee",
    dpi: DpiOption = 300.0,
    output: OutOption = None,
) -> None:
    """Write one figure for print, with its provenance inside; json and csv go to standard output without -o."""
    from dashboard.export import figures
    from dashboard.export.items import Answer
    from dashboard.files import write_whole

    figures.check_figure_format(format)
    how = figures.read_print(width, style, dpi)
    database = _open(data)
    answer = Answer(database, *_analysed(database, name, parameter or [], "figure"), how)
    content = answer.content("figure", name, format)
    if output is None and format in ("json", "csv"):
        _print(content.decode("utf-8"))
        return
    path = output or Path(f"{name}.{format}")
    write_whole(path, content)
    _say(f"wrote {path}\n{answer.describe('figure', name, format)['caption']}")


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write: new, empty or an earlier export.")],
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="An analysis, figure or table; may be repeated.")
    ] = None,
    formats: Annotated[
        str,
        typer.Option("--formats", help="With commas: pdf,svg,png,html,json and csv,json,md,latex,html,docx,parquet."),
    ] = "pdf,csv",
    width: WidthOption = "single",
    style: StyleOption = "ieee",
    dpi: DpiOption = 300.0,
    parameter: ParameterOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write every figure and table, a caption each, and manifest.json, all or nothing."""
    from dashboard.export.figures import read_print
    from dashboard.export.folder import Order, export_folder, read_formats

    order = Order(
        only=tuple(only or ()),
        formats=read_formats(formats),
        how=read_print(width, style, dpi),
        given=tuple(_pairs(parameter or [])),
    )
    manifest = export_folder(_open(data), folder, order, progress=_say_step)
    if as_json:
        _print(_as_json(manifest))
        return
    n_files = sum(len(one["files"]) for one in manifest["items"])
    lines = [
        f"{len(manifest['items'])} figures and tables in {n_files} files in {folder}; captions.md, methods.md, manifest.json."
    ]
    lines += [f"skipped {one['name']}: {one['reason']}" for one in manifest["skipped"]]
    _print("\n".join(lines))


@app.command()
def query(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A file of queries/reports, without .sql.")],
    parameter: ParameterOption = None,
    data: DataOption = None,
    sql: Annotated[bool, typer.Option("--sql", help="Print it with its values in place, ready to paste.")] = False,
    format: Annotated[str, typer.Option("--format", help="csv, json, md, latex, html, docx or parquet.")] = "csv",
    output: OutOption = None,
) -> None:
    """Run a report query, or print it."""
    from dashboard.export import TABLE_FORMATS
    from dashboard.queries import parse_values, print_query, run_query

    if format not in TABLE_FORMATS:
        raise unknown_name("table format", format, TABLE_FORMATS)
    values = parse_values(name, _pairs(parameter or []))
    database = _open(data)
    if sql:
        _print(print_query(database, name, **values))
        return
    _deliver(run_query(database, name, **values), name, format, output, caption="")


@app.command()
def fit(
    formula: Annotated[
        str, typer.Argument(metavar="FORMULA", help="lme4's syntax, e.g. 'overall ~ turn + (1 | participant)'.")
    ],
    ml: Annotated[bool, typer.Option("--ml", help="Maximum likelihood rather than restricted (REML).")] = False,
    ordinal: Annotated[bool, typer.Option("--ordinal", help="Cumulative logit: ratings as ordered levels.")] = False,
    quadrature: Annotated[
        int, typer.Option("--quadrature", min=1, max=50, metavar="N", help="Points per random intercept; 1 is Laplace.")
    ] = 7,
    intervals: Annotated[
        str | None,
        typer.Option("--intervals", help="wald (default), profile or bootstrap (seeded; see -p draws, -p seed)."),
    ] = None,
    ar1: Annotated[bool, typer.Option("--ar1", help="Residuals autocorrelated within conversations.")] = False,
    parameter: ParameterOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fit one mixed model. A fit that failed its checks prints no numbers, only what to do."""
    from dashboard.analyses import analysis
    from dashboard.analyses.findings import parse_parameters
    from dashboard.analyses.model_fit import fit_formula, fit_text

    pairs = _pairs(parameter or [])
    for key in {"formula", "method"} & {key for key, _ in pairs}:
        instead = "the first argument" if key == "formula" else "--ml"
        raise Refused(f"The {key} is given by {instead} of `sense7 fit`, not by -p {key}=….")
    # As -p intervals=… and -p ar1=true: the same values, the same refusals.
    pairs += [("intervals", intervals)] if intervals is not None else []
    pairs += [("ar1", "true")] if ar1 else []
    selection, parameters = parse_parameters(analysis("mixed_model"), pairs)
    database = _open(data)
    given: Any = parameters
    with _telling():
        found = fit_formula(
            database,
            selection,
            formula,
            reml=not ml,
            ordinal=ordinal,
            n_quadrature=quadrature,
            reference=given.reference,
            intervals=given.intervals,
            n_draws=given.draws,
            seed=given.seed,
            ar1=given.ar1,
        )
    _print(_as_json(found) if as_json else fit_text(found, synthetic=database.synthetic))


@app.command()
def evaluate(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE…", help="Predictions in the official form, csv or xlsx; one per iteration."),
    ],
    parameter: ParameterOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hold a classifier's predictions against the data, with the metrics as published."""
    from dashboard.analyses.classifier_metrics import ANALYSIS
    from dashboard.analyses.classifier_report import evaluate_files, evaluation_text
    from dashboard.analyses.findings import check_outcome, check_selection, parse_parameters

    pairs = _without_predictions(parameter, "The files are the arguments")
    selection, _ = parse_parameters(ANALYSIS, pairs)
    database = _open(data)
    check_selection(database, selection)
    check_outcome(database, pairs)
    found = evaluate_files(database, selection, files)
    _print(_as_json(found) if as_json else evaluation_text(found, synthetic=database.synthetic))


@app.command()
def judge(
    base_url: Annotated[
        str, typer.Option("--base-url", metavar="URL", help="OpenAI-compatible endpoint, e.g. https://host/v1.")
    ],
    model: Annotated[str, typer.Option("--model", metavar="NAME", help="The judge's name at the endpoint.")],
    iterations: Annotated[int, typer.Option("--iterations", min=1, max=100, help="How often each is judged.")] = 1,
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, max=500, help="Calls at the same time.")] = 4,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Only so many conversations.")] = None,
    price_in: Annotated[float | None, typer.Option("--price-in", min=0, help="Price of a million tokens read.")] = None,
    price_out: Annotated[
        float | None, typer.Option("--price-out", min=0, help="Price of a million tokens written.")
    ] = None,
    prompt: Annotated[Path | None, typer.Option("--prompt", metavar="FILE", help="Your prompt; default: ours.")] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for the prediction files; default: here.")
    ] = Path(),
    temperature: Annotated[
        float | None, typer.Option("--temperature", min=0, max=2, help="Default: the endpoint's.")
    ] = None,
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds per call.")] = 120.0,
    attempts: Annotated[int, typer.Option("--attempts", min=1, max=50, help="Calls per conversation at most.")] = 6,
    parameter: ParameterOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let an LLM judge the conversations; the key comes from SENSE7_API_KEY or OPENAI_API_KEY."""
    from dashboard.analyses.classifier_metrics import ANALYSIS
    from dashboard.analyses.findings import check_selection, parse_parameters
    from dashboard.judge import client, run, source
    from dashboard.judge.prompt import read_prompt

    selection, _ = parse_parameters(ANALYSIS, _without_predictions(parameter, "A judge makes predictions"))
    chosen = read_prompt(prompt)
    key = os.environ.get("SENSE7_API_KEY") or os.environ.get("OPENAI_API_KEY") or "none"
    endpoint = client.Endpoint(
        base_url=client.check_base_url(base_url),
        model=model,
        key=key.strip(),
        timeout_seconds=timeout,
        attempts=attempts,
        temperature=temperature,
    )
    plan = run.Plan(prompt=chosen, iterations=iterations, concurrency=concurrency, folder=out)
    database = _open(data)
    check_selection(database, selection)
    conversations = source.read_conversations(database, selection, limit)
    basis = source.run_basis(database, endpoint, chosen)
    _say(f"{len(conversations):,} conversations, {iterations} times, at {endpoint.base_url} by {model}.")
    outcome = run.judge_conversations(
        conversations, endpoint, plan, basis=basis, progress=_Progress("judged"), say=_say
    )
    found = run.describe_outcome(outcome, price_in=price_in, price_out=price_out)
    if outcome.stopped:
        _say(f"sense7: stopped. {run.outcome_text(found)}\nThe same command goes on from there.")
        raise typer.Exit(130)
    _print(_as_json(found) if as_json else run.outcome_text(found))


def _without_predictions(given: list[str] | None, why: str) -> list[tuple[str, str]]:
    """Return the filters; files are not given this way here."""
    pairs = _pairs(given or [])
    if any(key == "predictions" for key, _ in pairs):
        raise Refused(f"{why}: -p predictions=… has no place here.")
    return pairs


def _table(database: Database, name: str, given: list[str]) -> tuple[pd.DataFrame, str]:
    """Return a table by its name and its caption, as an export has it."""
    from dashboard.export.provenance import draft_caption

    one, findings, _, _ = _analysed(database, name, given, "table")
    return findings.tables[name], draft_caption(database, findings, one.tables[name])


def _analysed(
    database: Database, name: str, given: list[str], kind: str
) -> tuple[Analysis, Findings, Selection, Parameters]:
    """Run the analysis that a table or a figure belongs to; return it with what it found and was asked."""
    from dashboard.analyses import analysis
    from dashboard.analyses.findings import check_outcome, parse_parameters, run_analysis

    one = analysis(name.split(".", 1)[0])
    declared = one.figures if kind == "figure" else one.tables
    if not declared:
        raise Refused(f"The analysis {one.name!r} has no {kind}; its table is `sense7 table {one.name}`.")
    if name not in declared:
        raise unknown_name(kind, name, declared)
    selection, parameters = parse_parameters(one, _pairs(given))
    check_outcome(database, _pairs(given))
    with _telling():
        findings = run_analysis(database, one, selection, parameters)
    if name not in (findings.figures if kind == "figure" else findings.tables):
        raise Refused(f"The {kind} {name!r} is empty with these filters and parameters.")
    return one, findings, selection, parameters


def _deliver(frame: pd.DataFrame, name: str, format: str, output: Path | None, *, caption: str) -> None:
    """Print a table, or write it to a file whole."""
    from dashboard.export import BINARY_FORMATS, table_bytes, table_text
    from dashboard.files import write_whole

    if output is None and format not in BINARY_FORMATS:
        _print(table_text(frame, format, caption=caption))
        return
    path = output or Path(f"{name}.{format}")
    write_whole(path, table_bytes(frame, format, caption=caption))
    _say(f"wrote {path}")


def _describe(one: Analysis) -> dict[str, Any]:
    """Return what ``sense7 list`` says of an analysis."""
    everywhere = [
        {"name": "task, model, participant", "default": None, "values": "a name; may be repeated"},
        {"name": "desired_empathy", "default": None, "values": "a level; may be repeated"},
        {"name": "min_rated_turns", "default": 1, "values": "a whole number"},
        {"name": "exclude_flagged", "default": False, "values": "true or false"},
    ]
    own = [
        {
            "name": item.name,
            "default": item.default,
            "values": ", ".join(map(str, item.metadata["choices"]))
            or ("overall, turn_mean, a dimension" if item.name == "outcome" else "a value"),
            "help": item.metadata["help"],
        }
        for item in one.parameter_fields().values()
    ]
    return {
        "name": one.name,
        "page": one.page,
        "question": one.question,
        "tables": dict(one.tables),
        "figures": dict(one.figures),
        "parameters": own + everywhere,
    }


def _folder(data: str | None) -> Path:
    return paths.data_folder(data, os.environ, Path.cwd()).resolve()


def _open(data: str | None) -> Database:
    from dashboard.database import connect, is_public

    return connect(_folder(data), public=is_public(os.environ))


def _pairs(given: list[str]) -> list[tuple[str, str]]:
    """Split ``key=value`` at the first equals sign."""
    pairs = []
    for item in given:
        key, sign, value = item.partition("=")
        if not sign or not key.strip():
            raise Refused(f"A parameter must be KEY=VALUE; came {item!r}.")
        pairs.append((key.strip(), value))
    return pairs


def _as_json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def _print(text: str) -> None:
    try:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of a pipe has gone (`sense7 table … | head`): not an error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit from None


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _say_step(done: int, total: int, what: str) -> None:
    _say(f"[{done}/{total}] {what}")


@contextmanager
def _telling() -> Iterator[None]:
    """Say on standard error, on a terminal only, how far a long computation is; the line goes when it is done."""
    from dashboard.stats.progress import listening

    shown = ""

    def tell(what: str, done: int, total: int) -> None:
        nonlocal shown
        line = f"{what} {100 * done // total} %" if total else ""
        if line and line != shown and sys.stderr.isatty():
            shown = line
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)

    with listening(tell):
        yield
    if shown:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class _Progress:
    """Progress on standard error: one line that grows, on a terminal only."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._shown = -1

    def __call__(self, done: int, total: int) -> None:
        percent = 100 * done // max(total, 1)
        if percent != self._shown and sys.stderr.isatty():
            end = "\n" if done >= total else ""
            print(f"\r{self._what} {percent} %", end=end, file=sys.stderr, flush=True)
        self._shown = percent


if __name__ == "__main__":
    main()
