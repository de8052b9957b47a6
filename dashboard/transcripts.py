"""Conversations leave the dashboard whole: JSON lines with one conversation each, and ConvoKit's corpus format."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dashboard.database import Database
from dashboard.queries import run_query
from dashboard.vocabulary import Refused

if TYPE_CHECKING:
    import pandas as pd

MOST_CONVERSATIONS = 20_000
# One moment for every file in the archive, so that the same conversations give the same bytes.
_WRITTEN = (1980, 1, 1, 0, 0, 0)
_TYPES = {type(None): "NoneType", str: "str", int: "int", float: "float", bool: "bool", dict: "dict", list: "list"}


def read_conversations(
    database: Database, chosen: Mapping[str, Any], *, conversations: Collection[str] | None = None
) -> list[dict[str, Any]]:
    """Return conversations as plain values, ready for JSON: what was said, rated and answered.

    Parameters
    ----------
    database
        The opened data folder. Where it hides texts, ``content`` and ``comment`` are not there.
    chosen
        Query parameters of a selection, and ``conversation`` for a single one.
    conversations
        Ids to keep, in this order; None keeps all of the selection.

    Returns
    -------
    list of dict
        ``conversation, participant, task, model``, ``survey`` (``pre`` and ``post``: item → number or None), and
        ``messages``: ``message, turn, role, content, seconds, retry, comment`` and, on turns, ``ratings`` (outcome → number or
        None). What was stated not to apply is None and is listed under ``not_applicable``; None alone is missing.

    Raises
    ------
    Refused
        When there are more than ``MOST_CONVERSATIONS``.
    """
    cards = run_query(database, "conversations", **chosen)
    if conversations is not None:
        cards = cards.set_index("conversation", drop=False).loc[list(conversations)]
    if len(cards) > MOST_CONVERSATIONS:
        raise Refused(
            f"At most {MOST_CONVERSATIONS:,} conversations can be saved at once; these are {len(cards):,}. Filter them first."
        )
    messages = _grouped(run_query(database, "transcript", **chosen))
    ratings = _grouped(run_query(database, "transcript_ratings", **chosen))
    survey = _grouped(run_query(database, "transcript_survey", **chosen))
    return [
        {name: _value(card[name]) for name in ("conversation", "participant", "task", "model")}
        | {"survey": _survey(survey.get(card["conversation"], []))}
        | {
            "messages": _messages(
                messages.get(card["conversation"], []), ratings.get(card["conversation"], []), public=database.public
            )
        }
        for card in cards.to_dict("records")
    ]


def _grouped(frame: pd.DataFrame) -> dict[str, list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in frame.to_dict("records"):
        groups.setdefault(row["conversation"], []).append(row)
    return groups


def _value(cell: Any) -> Any:
    """Return a cell as JSON knows it: whole floats of ids and turns are left to the caller, NaN is None."""
    return None if cell is None or cell != cell else cell


def _survey(rows: list[dict[str, Any]]) -> dict[str, Any]:
    said: dict[str, Any] = {"pre": {}, "post": {}}
    aside = []
    for row in rows:
        said[row["phase"]][row["item"]] = _value(row["value"])
        if row["answer"] == "not_applicable":
            aside.append(row["item"])
    return said | {"not_applicable": aside}


def _messages(rows: list[dict[str, Any]], ratings: list[dict[str, Any]], *, public: bool) -> list[dict[str, Any]]:
    by_turn: dict[int, dict[str, Any]] = {}
    for row in ratings:
        entry = by_turn.setdefault(int(row["turn"]), {"ratings": {}, "not_applicable": []})
        entry["ratings"][row["outcome"]] = _value(row["value"])
        if row["answer"] == "not_applicable":
            entry["not_applicable"].append(row["outcome"])
    out = []
    for row in rows:
        turn = None if _value(row["turn"]) is None else int(row["turn"])
        said = {"message": int(row["message"]), "turn": turn, "role": row["role"]}
        if not public:
            said["content"] = _value(row["text"])
        said |= {"seconds": _value(row["seconds"]), "retry": _value(row["retry"])}
        if not public:
            said["comment"] = _value(row["comment"])
        out.append(said | (by_turn.get(turn, {}) if turn is not None else {}))
    return out


def conversations_jsonl(records: list[dict[str, Any]]) -> bytes:
    """Return one line of JSON per conversation, in UTF-8; see :func:`read_conversations` for what a line holds."""
    lines = (json.dumps(record, ensure_ascii=False, allow_nan=False) for record in records)
    # Text may hold characters at which some readers break lines; JSON may spell them.
    return "".join(f"{_one_line(line)}\n" for line in lines).encode("utf-8", "surrogatepass")


def _one_line(line: str) -> str:
    return line.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")


def convokit_corpus(
    records: list[dict[str, Any]], *, about: Mapping[str, Any], name: str = "sense7", public: bool = False
) -> bytes:
    """Return conversations as a corpus for ConvoKit: a zip of one folder that ``Corpus(filename=folder)`` loads.

    Parameters
    ----------
    records
        What :func:`read_conversations` returned.
    about
        What to say of the data in ``corpus.json``.
    name
        The folder's name.
    public
        Texts are hidden: every utterance's text is empty, and the corpus says so.

    Returns
    -------
    bytes
        ``utterances.jsonl``, ``speakers.json``, ``conversations.json``, ``corpus.json``, ``index.json``. An utterance replies to
        the one before; timestamps are seconds, or places in the conversation where a time is missing (``seconds`` stands in
        the meta). Its conversation's id is that of the first utterance, as the format asks, and the data's own id stands in
        the conversation's meta. Conversations without a message have no utterance and are left out.

    Notes
    -----
    After the format's description (https://convokit.cornell.edu/documentation/data_format.html) and what ``Corpus.dump`` of
    ConvoKit 5.0 writes. Checked with ConvoKit 5.0.0: ``Corpus(filename=…)`` loads the sample (9,509 utterances, 672
    conversations, 114 speakers) and both mapped data sets; every conversation passes ``check_integrity``, lists its utterances
    in order, and comes back whole after ``dump``.
    """
    utterances, speakers, conversations = [], {}, {}
    for record in records:
        for utterance, speaker in _utterances(record):
            utterances.append(utterance)
            speakers[utterance["speaker"]] = {"meta": speaker, "vectors": []}
        if record["messages"]:
            meta = {key: record[key] for key in ("conversation", "participant", "task", "model", "survey")}
            conversations[utterances[-1]["conversation_id"]] = {"meta": meta, "vectors": []}
    overall = dict(about) | {"texts_hidden": public}
    index = {
        "utterances-index": _index(one["meta"] for one in utterances),
        "speakers-index": _index(one["meta"] for one in speakers.values()),
        "conversations-index": _index(one["meta"] for one in conversations.values()),
        "overall-index": _index([overall]),
        "version": 1,
        "vectors": [],
    }
    lines = "".join(f"{_ascii(one)}\n" for one in utterances)
    files = {"utterances.jsonl": lines}
    for file, content in (
        ("speakers.json", speakers),
        ("conversations.json", conversations),
        ("corpus.json", overall),
        ("index.json", index),
    ):
        files[file] = _ascii(content)
    return _zipped({f"{name}/{file}": content for file, content in files.items()})


def _utterances(record: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    first = before = None
    # ConvoKit sorts by timestamp and takes no gaps: where a time is missing, the place in the conversation stands for all.
    is_timed = all(said["seconds"] is not None for said in record["messages"])
    for said in record["messages"]:
        own = f"{record['conversation']}-{said['message']}"
        first = first or own
        speaker, about = _speaker(record, said["role"])
        yield (
            {
                "id": own,
                "conversation_id": first,
                "text": said.get("content") or "",
                "speaker": speaker,
                "meta": {key: value for key, value in said.items() if key != "content"},
                "reply-to": before,
                "timestamp": said["seconds"] if is_timed else float(said["message"]),
                "vectors": [],
            },
            about,
        )
        before = own


def _speaker(record: Mapping[str, Any], role: str) -> tuple[str, dict[str, Any]]:
    """Return a speaker's id, which no participant shares with a model, and what is known of it."""
    about = {"role": role, "participant": None, "model": None}
    if role == "user":
        person = record["participant"]
        unknown = f"user:{record['conversation']}"
        return (f"participant:{person}" if person is not None else unknown), about | {"participant": person}
    if role == "assistant":
        return f"assistant:{record['model'] or 'unknown'}", about | {"model": record["model"]}
    # Errors and the like are nobody; whoever else speaks is a person of this conversation.
    return f"role:{role}" if role in ("error", "system", "tool") else f"{role}:{record['conversation']}", about


def _index(metas: Any) -> dict[str, list[str]]:
    """Return the types that each field of some meta data takes, as ConvoKit writes them."""
    seen: dict[str, dict[str, None]] = {}
    for meta in metas:
        for key, value in meta.items():
            types = seen.setdefault(key, {})
            if value is not None:
                types[f"<class '{_TYPES[type(value)]}'>"] = None
    return {key: list(types) for key, types in seen.items()}


def _ascii(content: Any) -> str:
    """Return JSON that is read alike whatever encoding the reader assumes: ConvoKit states none."""
    return json.dumps(content, ensure_ascii=True, allow_nan=False)


def _zipped(files: Mapping[str, str]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _WRITTEN), content, zipfile.ZIP_DEFLATED)
    return written.getvalue()
