"""The true effects planted in the synthetic sample: every number that its generator uses, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

from dashboard.intake.dataset import DIMENSIONS

DIMENSION_NAMES: tuple[str, ...] = tuple(DIMENSIONS)


@dataclass(frozen=True)
class Task:
    """One invented kind of task.

    Attributes
    ----------
    name
        As it stands in the table; plainly invented, since the tasks of the study are not known to us.
    popularity
        Probability of being chosen.
    rating
        Shift of every turn's latent rating.
    desired
        Shift of the latent desired level (SD 1 within person and task).
    relational, affective
        Shifts of the latent applicability (probit units) of these two dimensions.
    """

    name: str
    popularity: float
    rating: float
    desired: float
    relational: float
    affective: float


@dataclass(frozen=True)
class Model:
    """One assistant: probability of being drawn, shift of the latent rating, hazard of a breakdown per turn."""

    name: str
    popularity: float
    rating: float
    hazard: float
    seconds: float


@dataclass(frozen=True)
class Dimension:
    """One dimension of the turn rating, relative to the turn's overall latent rating.

    Attributes
    ----------
    name
        As in the table `scales`.
    shift, deviation
        Mean and standard deviation of its difference from the overall latent rating; a larger deviation
        gives a smaller kappa with `overall`.
    applicable
        Share of turns to which it applies.
    """

    name: str
    shift: float
    deviation: float
    applicable: float


@dataclass(frozen=True)
class Style:
    """A way of using the scale.

    Attributes
    ----------
    name
        For people; it is not in the data.
    count
        How many of every 109 participants have it.
    stretch
        Factor on the latent rating's distance from the midpoint.
    lowest, highest
        The levels that the person uses.
    straight
        Probability that a turn's dimensions are all given the overall rating.
    """

    name: str
    count: int
    stretch: float
    lowest: int = 1
    highest: int = 5
    straight: float = 0.0


@dataclass(frozen=True)
class Judge:
    """A simulated LLM judge: latent correlation with the ground truth, leniency, planted faults per file."""

    name: str
    correlation: float
    mean: float
    std_dev: float
    iteration_share: float
    call_errors: int
    unreadable: int
    failed: int
    tens: int


@dataclass(frozen=True)
class Effects:
    """Everything that the generator plants. Latent ratings are on the scale 1–5 before rounding."""

    # size of one block of the sample; scale K makes K blocks
    participants: int = 109
    conversations: int = 672
    longest: int = 15
    length_shape: float = 2.1
    length_scale: float = 3.40
    conversation_spread: float = 2.0

    # turn rating
    mean: float = 3.80
    participant_variance: float = 0.45
    conversation_variance: float = 0.11
    turn_variance: float = 0.43
    turn_autocorrelation: float = 0.15
    slope: float = -0.03
    slope_std_dev: float = 0.03
    slope_centre: int = 4
    desired_rating: tuple[float, float, float] = (0.0, 0.10, 0.25)

    # desired level and importance (before the task)
    desired_thresholds: tuple[float, float] = (-0.35, 0.55)
    desired_participant_std_dev: float = 0.6
    importance_thresholds: tuple[float, float, float, float] = (-1.5, -0.7, 0.2, 1.2)
    importance_desired: float = 0.4

    # breakdowns: a dip at a random turn
    dip: float = 2.2
    dip_after: float = 1.0
    dip_decay: float = 0.45
    dip_lasting: float = 0.30
    dip_experienced: float = 0.30
    ends_after_low: float = 0.10

    # survey after the task
    experienced_mean: float = 3.80
    experienced_quality: float = 0.60
    experienced_std_dev: float = 0.50
    experienced_item_std_dev: float = 0.46
    experienced_shift_relational: float = -0.25
    satisfaction_mean: float = 3.70
    satisfaction_experienced: float = 0.70
    satisfaction_congruence: float = 0.0
    satisfaction_desired: float = 0.0
    satisfaction_std_dev: float = 0.40
    satisfaction_item_std_dev: float = 0.50

    # applicability
    applicable_participant_std_dev: float = 0.7
    relational_turn: float = 0.06

    # what is not there
    unrated_conversations: float = 0.015
    unrated_turns: float = 0.02
    blank_ratings: float = 0.005
    blank_survey_items: float = 0.008
    relational_survey_not_applicable: float = 0.20
    blank_covariates: float = 0.02

    # rows and times
    errors: float = 0.008
    errors_at_breakdown: float = 0.08
    retries: float = 0.02
    retries_at_breakdown: float = 0.10
    open_ends: float = 0.12
    comments: float = 0.02
    comments_at_low: float = 0.15
    reading_seconds: float = 0.02
    typing_seconds: float = 0.12
    replying_seconds: float = 0.012
    hesitation_after_breakdown: float = 1.5

    # covariates and text
    empathy_trait_correlation: float = 0.45
    openness_trait_correlation: float = 0.0
    text_noise: float = 3.2

    tasks: tuple[Task, ...] = (
        Task("Budgeting for a castle", 0.16, -0.05, -1.0, -0.35, -0.45),
        Task("Consoling a lighthouse", 0.13, 0.10, 1.1, 0.35, 0.60),
        Task("Debugging a teapot", 0.17, -0.20, -1.2, -0.55, -0.60),
        Task("Homesick on Mars", 0.10, 0.20, 1.3, 0.50, 0.70),
        Task("Naming a dragon", 0.14, 0.10, -0.4, -0.05, -0.10),
        Task("Ode to a potato", 0.12, 0.05, -0.5, -0.10, -0.15),
        Task("Quarrel with a wizard", 0.12, -0.15, 0.8, 0.45, 0.50),
        Task("Travelling to Atlantis", 0.06, 0.00, -0.3, 0.10, -0.05),
    )
    models: tuple[Model, ...] = (
        Model("GPT-3.5", 0.25, -0.15, 0.035, 0.8),
        Model("GPT-4", 0.28, 0.00, 0.025, 1.3),
        Model("GPT-4 with empathy prompt", 0.27, 0.30, 0.015, 1.4),
        Model("Llama2-70B", 0.20, -0.25, 0.050, 1.0),
    )
    dimensions: tuple[Dimension, ...] = (
        Dimension("affective", 0.00, 0.35, 0.75),
        Dimension("cognitive", 0.05, 0.38, 0.96),
        Dimension("response", 0.05, 0.40, 0.97),
        Dimension("prosocial", 0.05, 0.43, 0.90),
        Dimension("interest", 0.00, 0.45, 0.85),
        Dimension("contextual", -0.05, 0.47, 0.88),
        Dimension("relational", -0.20, 0.52, 0.38),
    )
    styles: tuple[Style, ...] = (
        Style("ordinary", 72, 1.0),
        Style("extreme", 12, 1.5),
        Style("midpoint", 12, 0.55),
        Style("narrow range (2–4)", 9, 0.9, 2, 4),
        Style("straight-liner", 4, 1.0, straight=0.98),
    )
    judges: tuple[Judge, ...] = (
        Judge("synthetic_alder", 0.39, 3.8, 0.80, 0.30, call_errors=4, unreadable=5, failed=3, tens=2),
        Judge("synthetic_birch", 0.33, 3.3, 1.00, 0.45, call_errors=2, unreadable=9, failed=1, tens=1),
    )
    judge_iterations: int = 2
    judge_prompt: str = "rubric"


@dataclass(frozen=True)
class Observed:
    """What the planted effects look like in the tables of a large sample (200 blocks), after rounding and style.

    Rounding to whole ratings, the ends of the scale and styles change what was planted, so an analysis finds these
    figures and not the latent ones. Order within tuples: participant, conversation, turn; dimensions, tasks,
    models as in `Effects`; levels from the lowest. Breakdowns are turns whose overall rating is 1 or 2.
    """

    overall_mean: float = 3.69
    overall_std_dev: float = 1.00
    level_shares: tuple[float, ...] = (0.024, 0.092, 0.284, 0.369, 0.231)
    variance_shares: tuple[float, ...] = (0.31, 0.19, 0.50)
    applicable: tuple[float, ...] = (0.75, 0.96, 0.97, 0.90, 0.85, 0.88, 0.38)
    very_poor: tuple[float, ...] = (0.027, 0.026, 0.026, 0.027, 0.030, 0.033, 0.042)
    kappa: tuple[float, ...] = (0.70, 0.68, 0.66, 0.64, 0.625, 0.605, 0.535)
    kappa_linear: tuple[float, ...] = (0.80, 0.79, 0.78, 0.76, 0.75, 0.74, 0.69)
    alpha: float = 0.967
    alpha_after: float = 0.937
    turn_slope: float = -0.034
    task_means: tuple[float, ...] = (3.62, 3.84, 3.48, 3.92, 3.76, 3.71, 3.64, 3.68)
    model_means: tuple[float, ...] = (3.56, 3.72, 3.96, 3.44)
    desired_means: tuple[float, ...] = (3.58, 3.70, 3.84)
    desired_by_task: tuple[float, ...] = (1.37, 2.58, 1.30, 2.66, 1.69, 1.63, 2.43, 1.75)
    gap_by_desired: tuple[float, ...] = (64.3, 16.1, -31.0)
    satisfaction_slope: float = 0.66
    breakdown_turns: float = 0.115
    breakdown_conversations: float = 0.356
    breakdown_turns_by_model: tuple[float, ...] = (0.141, 0.106, 0.061, 0.174)
    breakdown_d: float = 1.22
    trait_empathy_correlation: float = 0.375
    trait_openness_correlation: float = 0.0
    judge_spearman: tuple[float, ...] = (0.363, 0.307)


EFFECTS = Effects()
OBSERVED = Observed()


def probit(share: float) -> float:
    """Return the standard normal quantile of a share."""
    return NormalDist().inv_cdf(share)
