-- One row per independent unit flagged for straight-lining.
-- key: example
select cluster || ' (' || round(100 * share_straight_lining)::integer || ' % of ' || n_turns || ' turns)' as example
from straight_lining
where flagged
order by cluster
