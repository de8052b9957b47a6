-- One row per conversation of the selection with how one outcome went: its mean, its lowest rating and its deepest drop.
-- key: conversation
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged, outcome, conversation, most
-- turns counts turns of the rated role, n_rated those with a rating; mean is over rated turns. drop is how far a rating lies
-- below the mean of the conversation's earlier ratings, at its deepest; null with fewer than two, negative where all rise.
-- lowest_turn and drop_turn are the first of their kind. At most the first "most" conversations (all when null). Rating columns are null where nothing is rated.
with chosen as (
    select
        conversation,
        participant,
        task,
        model,
        position
    from selected_ids(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, $outcome
    )
    where $conversation::varchar is null or conversation = $conversation::varchar
    order by position, conversation
    limit coalesce($most::bigint, 9223372036854775807)
),

lengths as (
    select
        messages.conversation,
        count(messages.turn) as turns
    from stg_messages as messages
    inner join chosen using (conversation)
    group by messages.conversation
),

rated as (
    select
        ratings.conversation,
        ratings.turn,
        ratings.value,
        avg(ratings.value) over (
            partition by ratings.conversation order by ratings.turn
            rows between unbounded preceding and 1 preceding
        ) - ratings.value as drop
    from stg_ratings as ratings
    inner join chosen using (conversation)
    where ratings.outcome = coalesce($outcome::varchar, 'overall') and ratings.answer = 'rated'
),

went as (
    select
        conversation,
        count(*) as n_rated,
        avg(value) as mean,
        min(value) as lowest,
        arg_min(turn, (value, turn)) as lowest_turn,
        max(drop) as drop,
        arg_min(turn, (-drop, turn)) filter (where drop is not null) as drop_turn
    from rated
    group by conversation
)

select
    chosen.conversation,
    chosen.participant,
    chosen.task,
    chosen.model,
    scores.desired_empathy,
    coalesce(lengths.turns, 0) as turns,
    coalesce(went.n_rated, 0) as n_rated,
    went.mean,
    went.lowest,
    went.lowest_turn,
    went.drop,
    went.drop_turn,
    scores.experienced_empathy,
    scores.satisfaction
from chosen
left join survey_scores as scores using (conversation)
left join lengths using (conversation)
left join went using (conversation)
order by chosen.position, chosen.conversation
