-- One row per participant who has a conversation; the columns after participant are the source's covariates, hence the star.
-- key: participant
select *
from raw.participants
