-- One row per participant with how they rate: one outcome over their turns, none weighted.
-- key: participant
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged, outcome
-- std_dev has n − 1; iqr uses type 7 quantiles; low and extreme are relative to the scale; shares and entropy exist for
-- whole-number outcomes only, the midpoint for odd many levels only. rmssd and inertia take pairs of successive turns of one
-- conversation, both rated; inertia needs three pairs that vary. Participants without a rated turn keep a row.
with chosen as materialized (
    select conversation, participant
    from selected_ids(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, $outcome
    )
    where participant is not null
),

turns as materialized (
    select
        ratings.conversation,
        ratings.value,
        chosen.participant,
        scales.minimum,
        scales.maximum,
        scales.step,
        scales.n_levels,
        scales.low_at,
        lead(ratings.value) over conversation_turns as next_value,
        lead(ratings.turn) over conversation_turns = ratings.turn + 1 as is_pair,
        ratings.turn,
        ratings.value is distinct from lag(ratings.value) over conversation_turns as starts_run
    from stg_ratings as ratings
    inner join chosen using (conversation)
    inner join stg_scales as scales on ratings.outcome = scales.measure
    where ratings.answer = 'rated' and ratings.outcome = coalesce($outcome::varchar, 'overall')
    window conversation_turns as (partition by ratings.conversation order by ratings.turn)
),

everyone as (
    select distinct participant from chosen
),

levels as (
    select participant, value, n_levels, count(*) as n
    from turns
    where step is not null
    group by all
),

entropies as (
    select participant, -sum(n * ln(n / total) order by value) / any_value(total) / ln(any_value(n_levels)) + 0.0 as entropy
    from (select *, sum(n) over (partition by participant)::double as total from levels)
    group by participant
),

numbered_runs as (
    select
        participant,
        conversation,
        sum(starts_run::integer) over (partition by conversation order by turn) as run
    from turns
),

runs as (
    select participant, max(n) as longest_run
    from (select participant, conversation, run, count(*) as n from numbered_runs group by all)
    group by participant
),

-- Summed in one order: threads would add them up in another each time, and the last digit would not repeat.
described as (
    select
        participant,
        count(*) as n_turns,
        count(distinct conversation) as n_conversations,
        avg(value order by conversation, turn) as mean,
        case
            when min(value) = max(value) and count(*) > 1 then 0.0
            else stddev_samp(value order by conversation, turn)
        end as std_dev,
        quantile_cont(value, 0.5) as median,
        quantile_cont(value, 0.75) - quantile_cont(value, 0.25) as iqr,
        min(value) as minimum,
        max(value) as maximum,
        avg((value in (turns.minimum, turns.maximum))::integer) filter (where step is not null) as share_extreme,
        avg((value = (turns.minimum + turns.maximum) / 2)::integer)
            filter (where step is not null and n_levels % 2 = 1) as share_midpoint,
        avg((value <= low_at)::integer) as share_low,
        sqrt(avg((next_value - value) ** 2 order by conversation, turn) filter (where is_pair)) as rmssd,
        case
            when count(*) filter (where is_pair) >= 3
                and min(value) filter (where is_pair) < max(value) filter (where is_pair)
                and min(next_value) filter (where is_pair) < max(next_value) filter (where is_pair)
                then corr(value, next_value order by conversation, turn) filter (where is_pair)
        end as inertia,
        sum(value order by conversation, turn) as total,
        any_value(turns.minimum) as scale_minimum,
        any_value(turns.maximum) as scale_maximum
    from turns
    group by participant
),

-- The largest SD that n ratings with this mean can have on this scale: k at the top, one between, the rest at the bottom.
bounded as (
    select
        *,
        floor(
            round((total - n_turns * scale_minimum) / (scale_maximum - scale_minimum), 9)
        ) as n_top
    from described
),

largest as (
    select
        *,
        total - (n_turns - 1 - n_top) * scale_minimum - n_top * scale_maximum as between_value
    from bounded
)

select
    everyone.participant,
    coalesce(largest.n_turns, 0) as n_turns,
    coalesce(largest.n_conversations, 0) as n_conversations,
    largest.mean,
    largest.std_dev,
    largest.median,
    largest.iqr,
    largest.minimum,
    largest.maximum,
    entropies.entropy,
    largest.share_extreme,
    largest.share_midpoint,
    largest.share_low,
    case
        when largest.n_turns >= 2 and largest.mean > largest.scale_minimum and largest.mean < largest.scale_maximum
            then largest.std_dev / sqrt(
                (
                    (largest.n_turns - 1 - largest.n_top) * (largest.scale_minimum - largest.mean) ** 2
                    + largest.n_top * (largest.scale_maximum - largest.mean) ** 2
                    + (largest.between_value - largest.mean) ** 2
                ) / (largest.n_turns - 1)
            )
    end as relative_std_dev,
    largest.rmssd,
    largest.inertia,
    runs.longest_run
from everyone
left join largest using (participant)
left join entropies using (participant)
left join runs using (participant)
order by everyone.participant
