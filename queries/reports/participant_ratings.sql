-- One row per participant with how they rate: one outcome over their turns, none weighted.
-- key: participant
-- parameters: task, model, participant, desired_empathy, min_rated_turns, exclude_flagged, outcome
-- std_dev has n − 1; iqr uses type 7 quantiles; low and extreme are relative to the scale; shares and entropy exist for
-- whole-number outcomes only, the midpoint for odd many levels only. rmssd and inertia take pairs of successive turns of one
-- conversation, both rated; inertia needs three pairs that vary. Participants without a rated turn keep a row.
with chosen as materialized (
    select
        conversation,
        participant,
        row_number() over (order by position, conversation) as chat,
        dense_rank() over (order by participant) as person
    from selected_ids(
        $task, $model, $participant, $desired_empathy, $min_rated_turns, $exclude_flagged, $outcome
    )
    where participant is not null
),

turns as materialized (
    select
        chosen.chat,
        ratings.value,
        chosen.person,
        scales.minimum,
        scales.maximum,
        scales.step,
        scales.n_levels,
        scales.low_at,
        ratings.value - scales.minimum as above,
        lead(ratings.value - scales.minimum) over conversation_turns as next_above,
        lead(ratings.turn) over conversation_turns = ratings.turn + 1 as is_pair,
        ratings.turn,
        ratings.value is distinct from lag(ratings.value) over conversation_turns as starts_run
    from stg_ratings as ratings
    inner join chosen using (conversation)
    inner join stg_scales as scales on ratings.outcome = scales.measure
    where ratings.answer = 'rated' and ratings.outcome = coalesce($outcome::varchar, 'overall')
    window conversation_turns as (partition by chosen.chat order by ratings.turn)
),

everyone as (
    select distinct participant, person from chosen
),

levels as (
    select person, value, n_levels, count(*) as n
    from turns
    where step is not null
    group by all
),

entropies as (
    select person, -sum(n * ln(n / total) order by value) / any_value(total) / ln(any_value(n_levels)) + 0.0 as entropy
    from (select *, sum(n) over (partition by person)::double as total from levels)
    group by person
),

numbered_runs as (
    select
        person,
        chat,
        sum(starts_run::integer) over (partition by chat order by turn) as run
    from turns
),

runs as (
    select person, max(n) as longest_run
    from (select person, chat, run, count(*) as n from numbered_runs group by all)
    group by person
),

-- Summed as exact decimals above the scale's minimum: threads add up in another order each time, and the last bit of sums of
-- doubles would not repeat.
exact as (
    select
        *,
        above::decimal(38, 14) as a,
        (above * above)::decimal(38, 14) as aa,
        case when is_pair then above::decimal(38, 14) end as one,
        case when is_pair then next_above::decimal(38, 14) end as two,
        case when is_pair then (above * above)::decimal(38, 14) end as one_one,
        case when is_pair then (next_above * next_above)::decimal(38, 14) end as two_two,
        case when is_pair then (above * next_above)::decimal(38, 14) end as one_two
    from turns
),

described as (
    select
        person,
        count(*) as n_turns,
        count(distinct chat) as n_conversations,
        any_value(exact.minimum) + sum(a)::double / count(*) as mean,
        case
            when count(*) < 2 then null
            when min(value) = max(value) then 0.0
            else sqrt((sum(aa)::double - sum(a)::double ** 2 / count(*)) / (count(*) - 1))
        end as std_dev,
        quantile_cont(value, 0.5) as median,
        quantile_cont(value, 0.75) - quantile_cont(value, 0.25) as iqr,
        min(value) as minimum,
        max(value) as maximum,
        avg((value in (exact.minimum, exact.maximum))::integer) filter (where step is not null) as share_extreme,
        avg((value = (exact.minimum + exact.maximum) / 2)::integer)
            filter (where step is not null and n_levels % 2 = 1) as share_midpoint,
        avg((value <= low_at)::integer) as share_low,
        sqrt(greatest((sum(one_one) + sum(two_two) - 2 * sum(one_two))::double, 0.0) / count(one)) as rmssd,
        case
            when count(one) >= 3 and min(one) < max(one) and min(two) < max(two)
                then greatest(-1.0, least(1.0, (
                    sum(one_two)::double - sum(one)::double * sum(two)::double / count(one)
                ) / sqrt(
                    (sum(one_one)::double - sum(one)::double ** 2 / count(one))
                    * (sum(two_two)::double - sum(two)::double ** 2 / count(one))
                )))
        end as inertia,
        any_value(exact.minimum) * count(*) + sum(a)::double as total,
        any_value(exact.minimum) as scale_minimum,
        any_value(exact.maximum) as scale_maximum
    from exact
    group by person
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
left join largest using (person)
left join entropies using (person)
left join runs using (person)
order by everyone.participant
