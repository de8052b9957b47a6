-- One row per participant: how often all answered dimensions of a turn got the same rating, and how often any could be rated.
-- key: participant
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged, outcome
-- n_turns_answered counts turns with three or more rated dimensions; share_straight_lining is null without one.
with chosen as materialized (
    select conversation, participant
    from selected_ids(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, $outcome
    )
    where participant is not null
),

turns as (
    select
        chosen.participant,
        ratings.conversation,
        ratings.turn,
        count(*) filter (where ratings.answer = 'rated') as n_rated,
        count(*) filter (where ratings.answer = 'not_applicable') as n_not_applicable,
        min(ratings.value) = max(ratings.value) as is_constant
    from stg_ratings as ratings
    inner join stg_scales as scales on ratings.outcome = scales.measure and scales.score = 'dimension'
    inner join chosen using (conversation)
    group by all
)

select
    participant,
    count(*) filter (where n_rated >= 3) as n_turns_answered,
    avg(is_constant::integer) filter (where n_rated >= 3) as share_straight_lining,
    sum(n_rated) / nullif(sum(n_rated + n_not_applicable), 0) as share_applicable
from turns
group by participant
order by participant
