"""Report queries, run by name: ``run_query(database, "applicability", task=["Planning"])``."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dashboard.database import Database, layers, layers_read, raw_statements
from dashboard.paths import QUERIES
from dashboard.vocabulary import Refused, unknown_name

if TYPE_CHECKING:
    import pandas as pd

FILTERS = ("task", "model", "participant", "desired_empathy")
_HEADER = re.compile(r"^-- (One row per|key:|parameters:|order:)\s*(.*)$", flags=re.MULTILINE)


@dataclass(frozen=True)
class Report:
    """One file of ``queries/reports``.

    Attributes
    ----------
    name
        The question's name.
    grain
        What one row is.
    key
        The columns that identify a row.
    parameters
        The ``$parameters`` that it takes; each may be null, which means no filter.
    sql
        The statement.
    """

    name: str
    grain: str
    key: tuple[str, ...]
    parameters: tuple[str, ...]
    sql: str


def report_names() -> list[str]:
    """Return the names of all report queries."""
    return sorted(path.stem for path in (QUERIES / "reports").glob("*.sql"))


@lru_cache
def report(name: str) -> Report:
    """Return a report query by its name.

    Raises
    ------
    Refused
        When there is none of that name.
    """
    if name not in report_names():
        raise unknown_name("query", name, report_names())
    sql = (QUERIES / "reports" / f"{name}.sql").read_text(encoding="utf-8").strip().rstrip(";")
    header = {key: value.strip() for key, value in _HEADER.findall(sql)}
    words = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
    parameters = tuple(words.findall(header.get("parameters:", "")))
    return Report(
        name=name,
        grain=header.get("One row per", "").rstrip("."),
        key=tuple(words.findall(header.get("key:", ""))),
        parameters=() if parameters == ("none",) else parameters,
        sql=sql,
    )


def run_query(database: Database, name: str, /, **parameters: Any) -> pd.DataFrame:
    """Run a report query and return its rows.

    Parameters
    ----------
    database
        The opened data folder.
    name
        The report's name.
    **parameters
        Values of its parameters; those not given are null, which means no filter.

    Returns
    -------
    pandas.DataFrame
        Its rows, in the order that the query states. Integers with nulls come as floats with NaN.

    Raises
    ------
    Refused
        For an unknown query or parameter.
    """
    sql, values = _statement(name, parameters)
    return _plain_types(database.cursor().execute(sql, values).df())


def run_watched(
    database: Database, name: str, /, *, watch: Callable[[float], None], every_seconds: float = 0.2, **parameters: Any
) -> pd.DataFrame:
    """Run a report query that takes long, saying now and then how much of it is done.

    Parameters
    ----------
    database, name, **parameters
        As for :func:`run_query`.
    watch
        Called with the share done, 0 to 1, in the caller's thread. Whatever it raises stops the query and goes on to the caller.
    every_seconds
        How often.

    Returns
    -------
    pandas.DataFrame
        What :func:`run_query` returns.

    Raises
    ------
    Refused
        For an unknown query or parameter.
    """
    sql, values = _statement(name, parameters)
    cursor = database.connection.cursor()
    cursor.execute("set enable_progress_bar = true")
    cursor.execute("set enable_progress_bar_print = false")
    answered: list[pd.DataFrame | Exception] = []

    def answer() -> None:
        try:
            answered.append(cursor.execute(sql, values).df())
        except Exception as fault:
            answered.append(fault)

    working = threading.Thread(target=answer, daemon=True)
    working.start()
    try:
        watch(0.0)
        while working.is_alive():
            working.join(every_seconds)
            watch(min(1.0, max(0.0, cursor.query_progress() / 100)))
    except BaseException:
        cursor.interrupt()
        working.join()
        raise
    if isinstance(answered[0], Exception):
        raise answered[0]
    return _plain_types(answered[0])


def _statement(name: str, parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any] | None]:
    """Return a report's statement with the values to bind."""
    chosen = report(name)
    _check_parameters(chosen, parameters)
    return chosen.sql, {key: _bindable(parameters.get(key)) for key in chosen.parameters} or None


def print_query(database: Database, name: str, /, **parameters: Any) -> str:
    """Return a report query with its values in place and all that it reads, ready to paste into the DuckDB shell."""
    chosen = report(name)
    _check_parameters(chosen, parameters)
    known = {layer.name: layer for layer in layers()}
    needed: set[str] = set()
    waiting = layers_read(chosen.sql, known)
    while waiting:
        one = waiting.pop()
        if one not in needed:
            needed.add(one)
            waiting += layers_read(known[one].sql, known)
    body = re.sub(r"\$([a-z_]+)", lambda match: _literal(parameters.get(match.group(1))), _without_header(chosen.sql))
    header = "\n".join(line for line in chosen.sql.splitlines() if line.startswith("--"))
    before = "\n\n".join(
        [*raw_statements(database.folder, public=database.public)]
        + [layer.create() for layer in layers() if layer.name in needed]
    )
    return f"{before}\n\n{header}\n{body};\n"


def _without_header(sql: str) -> str:
    return "\n".join(line for line in sql.splitlines() if not line.startswith("--"))


def _check_parameters(chosen: Report, parameters: Mapping[str, Any]) -> None:
    for key in parameters:
        if key not in chosen.parameters:
            raise unknown_name(f"parameter of the query {chosen.name!r} called", key, chosen.parameters)


def _bindable(value: Any) -> Any:
    """Lists stay lists; an empty list or tuple means no filter, as null does."""
    if isinstance(value, list | tuple | set | frozenset):
        return list(value) or None
    return value


def _literal(value: Any) -> str:
    """Return a value as an SQL literal."""
    value = _bindable(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(_literal(item) for item in value)}]"
    if isinstance(value, str):
        if "\x00" in value:
            raise Refused("A parameter must not hold the character NUL.")
        return "'" + value.replace("'", "''") + "'"
    raise TypeError(f"no SQL literal for {type(value).__name__}")


def _plain_types(frame: pd.DataFrame) -> pd.DataFrame:
    """Turn nullable integers, booleans and decimals into plain numpy columns."""
    import pandas as pd

    for name in frame.columns:
        dtype = frame[name].dtype
        if isinstance(dtype, pd.api.extensions.ExtensionDtype) and pd.api.types.is_numeric_dtype(dtype):
            has_null = bool(frame[name].isna().any())
            frame[name] = (
                frame[name].to_numpy(dtype=float if has_null else None, na_value=float("nan"))
                if has_null
                else frame[name].to_numpy()
            )
    return frame


def parse_values(name: str, given: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Turn ``key=value`` pairs into values of a report's parameters.

    Filters collect their values in a list; whole numbers, numbers and true/false are read as such where the parameter
    takes them; everything else is text.

    Raises
    ------
    Refused
        For an unknown query or parameter, a value that cannot be read, or one given twice.
    """
    chosen = report(name)
    values: dict[str, Any] = {}
    for key, text in given:
        _check_parameters(chosen, {key: text})
        if key in FILTERS:
            values.setdefault(key, []).append(read_value(key, text))
        elif key in values:
            raise Refused(f"The parameter {key!r} takes one value; it came twice.")
        else:
            values[key] = read_value(key, text)
    return values


def read_value(key: str, text: str) -> Any:
    """Read one value of a parameter that is taken everywhere; other parameters are text."""
    if key == "desired_empathy":
        return read_number(key, text, float)
    if key == "min_rated_turns":
        number = read_number(key, text, int)
        if number < 0:
            raise Refused(f"The parameter {key!r} must be at least 0; came {number}.")
        return number
    if key == "exclude_flagged":
        return read_boolean(key, text)
    return text


def read_number(key: str, text: str, kind: type[int] | type[float]) -> Any:
    """Read a finite number, or refuse."""
    what = "a whole number" if kind is int else "a number"
    try:
        value = kind(text)
    except ValueError:
        raise Refused(f"The parameter {key!r} must be {what}; came {text!r}.") from None
    if not math.isfinite(value):
        raise Refused(f"The parameter {key!r} must be {what}; came {text!r}.")
    return value


def read_boolean(key: str, text: str) -> bool:
    """Read true or false, or refuse."""
    lowered = text.strip().lower()
    if lowered in {"true", "1", "yes"}:
        return True
    if lowered in {"false", "0", "no"}:
        return False
    raise Refused(f"The parameter {key!r} must be true or false; came {text!r}.")
