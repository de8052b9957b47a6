"""EFFECTS.md of the synthetic sample: what was planted and what it looks like in the tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dashboard.intake.sample_effects import Effects, Observed
from dashboard.intake.sample_text import LITERALS

_HEAD = """\
# What is planted in the synthetic sample

Everything in this folder is **SYNTHETIC**: ratings are simulated, texts invented, and no number in it is a result of
any study. `sense7 sample DIR` writes it again byte for byte; `--seed`, `--scale` and `--no-text` make others. This
file is written from `dashboard/intake/sample_effects.py`, which holds every number that the generator uses. Columns
marked *seen* state what a sample of 200 times this size shows; this small one scatters around it.
"""

_TURN = """
## The rating of a turn

latent rating = {mean} + participant + task + model + desired level + conversation
+ (slope of the participant) · (turn − {slope_centre}) + noise of the turn − what a breakdown takes

The overall rating is the latent one, stretched from the midpoint by the participant's style, rounded to 1–5.

- Variances before rounding: participant {participant_variance}, conversation {conversation_variance}, turn
  {turn_variance}. *Seen*, without any predictor: shares {shares}; mean {seen_mean}, SD {seen_sd}; levels 1–5 {levels}.
- The noise of successive turns correlates by {turn_autocorrelation} (AR(1) within conversations).
- Ratings fade by {fade} per turn; participants' slopes have SD {slope_std_dev} and are independent of their level
  at turn {slope_centre}. *Seen* within conversations: {seen_slope} per turn, breakdowns included.
- Desired level 1, 2, 3 adds {desired}. *Seen* means: {seen_desired}.
- After a rating of 1 or 2 the conversation ends with an added probability of {ends_after_low}.
"""

_AFTER = """
## Breakdowns

Each conversation may have one planted breakdown; its hazard per turn is constant and depends on the model (table
above). It takes {dip} from the latent rating of its turn, {dip_after} from the next, then less by a factor {dip_decay}
each turn towards {dip_lasting}, which stays to the end. After the task experienced empathy loses {dip_experienced} more.
Low ratings also come without a planted breakdown, from the person, the conversation and the turn.

*Seen*: {turns} of rated turns are 1 or 2 (by model {by_model}), {seen_conversations} of conversations have such a turn;
Cohen's d of experienced empathy, without against with: {d}.

## Before and after the task

- Desired level: a latent wish (task + participant, SD {desired_participant_std_dev}, + noise of SD 1) cut at
  {desired_thresholds}. Importance follows the same wish with weight {importance_desired}.
- Experienced empathy: {experienced_mean} + {experienced_quality} · (mean latent rating − {mean}) − breakdown + noise
  of SD {experienced_std_dev}, and {experienced_item_std_dev} for each item. *Seen*: alpha of the seven items {alpha_after}.
- Gap (experienced − desired, POMP), *seen* by desired level 1, 2, 3: {gap}.
- Satisfaction: {satisfaction_experienced} for each point of latent experienced empathy, noise of SD
  {satisfaction_std_dev}, and {satisfaction_item_std_dev} for each item. **No effect of congruence and none of the desired
  level** ({satisfaction_congruence}, {satisfaction_desired}): whoever finds one has found noise. *Seen* slope on experienced
  empathy: {seen_satisfaction}.

## Applicability

A probit of dimension, task (affective and relational only), participant (SD {applicable_participant_std_dev}) and, for
relational continuity, {relational_turn} per turn. It does not depend on the rating.

## Participants

- `trait_empathy` correlates {empathy_trait_correlation} with the participant's level (*seen* with the mean rating:
  {seen_trait}); `trait_openness`, `age` and `gender` with nothing.
- Response styles are not in the data; straight-lining can be found in it.
"""

_ROWS = """
## Rows, times, texts

- Per block of {participants} participants: {conversations} conversations, unequally many each, of 1–{longest} turns.
- No rating at all: {unrated_conversations} of conversations, and {unrated_turns} of further turns; single blanks
  {blank_ratings}. Relational continuity after the task is *not applicable* in {relational_survey_not_applicable}.
- Error rows before a turn: {errors}, at a planted breakdown {errors_at_breakdown}; retried turns: {retries}, at a
  breakdown {retries_at_breakdown}. Conversations that end with an unanswered message: {open_ends}.
- Comments: {comments} of turns, {comments_at_low} of those rated 1 or 2.
- Seconds before a participant's message: (3 + {reading_seconds} per character read + {typing_seconds} per character
  written) · own pace, × {hesitation_after_breakdown} after a planted breakdown; before a reply: speed of the model ·
  (1.5 + {replying_seconds} per character). Replies at a breakdown are short.
- Texts begin with `[synthetic]`. One sentence of each message is cold, neutral or warm: the turn's latent rating
  plus noise of SD {text_noise} decides, so words carry a weak signal of the rating (a participant's message answers the
  turn before). {literals} messages hold literals that must show as typed: `$5-$6`, `:red[x]`, `<script>`, images,
  right-to-left and CJK scripts, 32,000 characters.
"""

_JUDGES = """
## Predictions of two simulated judges

`predictions/{{judge}}-{prompt}-iter{{N}}.csv`, in the official form, for the first {conversations} conversations of a sample of
any scale. Planted in each file:

{table}

An error and an unreadable level are recorded as prediction 3 (together: the fallbacks); a failed row holds
`PROCESSING_FAILED` in place of prediction and output; "10" is recorded as 1.
"""


def effects_document(effects: Effects, observed: Observed) -> str:
    """Return the text of EFFECTS.md: what was planted, and what a large sample shows."""
    e, seen = effects, observed
    plain = {name: _shown(value) for name, value in vars(e).items() if isinstance(value, int | float)}
    turn = _TURN.format(
        **plain,
        fade=_shown(-e.slope),
        desired=_listed(e.desired_rating),
        shares=_listed(seen.variance_shares),
        seen_mean=_shown(seen.overall_mean),
        seen_sd=_shown(seen.overall_std_dev),
        levels=_listed(seen.level_shares),
        seen_slope=_shown(seen.turn_slope),
        seen_desired=_listed(seen.desired_means),
    )
    after = _AFTER.format(
        **plain,
        turns=_shown(seen.breakdown_turns),
        by_model=_listed(seen.breakdown_turns_by_model),
        seen_conversations=_shown(seen.breakdown_conversations),
        d=_shown(seen.breakdown_d),
        desired_thresholds=_listed(e.desired_thresholds),
        alpha_after=_shown(seen.alpha_after),
        gap=_listed(seen.gap_by_desired),
        seen_satisfaction=_shown(seen.satisfaction_slope),
        seen_trait=_shown(seen.trait_empathy_correlation),
    )
    return (
        _HEAD
        + turn
        + _groups(e, seen)
        + after
        + _styles(e)
        + _ROWS.format(**plain, literals=len(LITERALS))
        + _judges(e, seen)
    )


def _groups(e: Effects, seen: Observed) -> str:
    tasks = _table(
        ("task", "chosen", "rating", "mean (seen)", "wish", "desired level (seen)", "relational", "affective"),
        (
            (task.name, task.popularity, task.rating, mean, task.desired, desired, task.relational, task.affective)
            for task, mean, desired in zip(e.tasks, seen.task_means, seen.desired_by_task, strict=True)
        ),
    )
    models = _table(
        ("model", "drawn", "rating", "mean (seen)", "hazard of a breakdown", "speed"),
        (
            (model.name, model.popularity, model.rating, mean, model.hazard, model.seconds)
            for model, mean in zip(e.models, seen.model_means, strict=True)
        ),
    )
    dimensions = _table(
        ("dimension", "shift", "SD of deviation", "applicable", "kappa (seen)", "linear (seen)", "very poor (seen)"),
        (
            (item.name, item.shift, item.deviation, item.applicable, *figures)
            for item, *figures in zip(e.dimensions, seen.kappa, seen.kappa_linear, seen.very_poor, strict=True)
        ),
    )
    return (
        f"\n## Tasks, models, dimensions\n\nThe tasks are plainly invented: those of the study are not known to us.\n\n"
        f"{tasks}\n\n{models}\n\nA dimension's latent rating is the overall one + shift + deviation. *Seen*: alpha over turns with\n"
        f"all seven {_shown(seen.alpha)}; kappa with the overall rating, unweighted and linear, below.\n\n{dimensions}\n"
    )


def _styles(e: Effects) -> str:
    rows = ((s.name, s.count, s.stretch, f"{s.lowest}–{s.highest}", s.straight) for s in e.styles)
    head = ("style", f"of {e.participants}", "stretch", "levels used", "all dimensions equal overall")
    return "\n" + _table(head, rows) + "\n"


def _judges(e: Effects, seen: Observed) -> str:
    rows = (
        (j.name, e.judge_iterations, j.correlation, spearman, j.call_errors, j.unreadable, j.failed, j.tens)
        for j, spearman in zip(e.judges, seen.judge_spearman, strict=True)
    )
    head = ("judge", "files", "latent r", "Spearman (seen)", "errors", "unreadable", "failed", '"10"')
    return _JUDGES.format(prompt=e.judge_prompt, conversations=e.conversations, table=_table(head, rows))


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *([_shown(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _listed(values: Iterable[float]) -> str:
    return ", ".join(_shown(value) for value in values)


def _shown(value: object) -> str:
    return f"{value:g}".replace("-", "−") if isinstance(value, int | float) else str(value)
