-- One row per outcome and rated turn of the selection, its ids as numbers: what models and correlations read.
-- key: outcome_number, conversation_number, turn
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged, outcome
-- outcome null means every outcome. cluster_number counts participants in the order of their ids (conversations where the
-- source knows no participants), conversation_number the selected conversations in the order of the source, both from 0;
-- outcome_number counts outcomes as the report "outcomes" lists them.
with chosen as (
    select
        conversation,
        row_number() over (order by position, conversation) - 1 as conversation_number,
        dense_rank() over (order by cluster) - 1 as cluster_number
    from selected_ids(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, $outcome
    )
),

numbered as (
    select measure, row_number() over (order by position, measure) - 1 as outcome_number
    from stg_scales
    where kind = 'rating'
)

select
    numbered.outcome_number,
    chosen.conversation_number,
    ratings.turn,
    chosen.cluster_number,
    ratings.value
from stg_ratings as ratings
inner join numbered on ratings.outcome = numbered.measure
inner join chosen using (conversation)
where ratings.answer = 'rated' and ($outcome::varchar is null or ratings.outcome = $outcome::varchar)
order by numbered.outcome_number, chosen.conversation_number, ratings.turn
