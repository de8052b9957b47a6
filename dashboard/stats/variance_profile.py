"""Profile intervals of variance shares: how far a share can go before the best remaining fit is 3.84 worse."""

from __future__ import annotations

import math

import numpy as np

from dashboard.stats.nested_intercepts import NestedIntercepts
from dashboard.stats.progress import tell
from dashboard.stats.threads import one_thread
from dashboard.stats.variance_components import COMPONENTS, Components

_CHI2_95 = 3.841458820694124
# A turn's share of 0 has no finite ratio; this one is near enough.
_LEAST = 1e-9
# A division is good enough when moving it gains less of the deviance than this.
_EXACT = 1e-6


def profile_share(components: Components, component: str) -> tuple[float, float]:
    """Return the 95 % profile interval of a component's share: where the REML deviance rises by 3.84.

    At each value of the share the deviance is minimised over how the rest divides between the other two components.
    An end where it never rises so far is the end of the range, 0 or 1. NaN where the fit failed.

    Notes
    -----
    Checked against a fine grid of divisions, and against ``lme4::profile`` where that has the same ends.
    """
    if components.fit is None or components.function is None:
        return math.nan, math.nan
    best = components.share(component)
    ends = []
    with one_thread():
        for end in (0.0, 1.0):
            profile = _Profile(components, component)
            ends.append(profile.crossing(best, end))
            tell("profile intervals")
    return ends[0], ends[1]


class _Profile:
    """The deviance of the best fit with one component's share fixed, and its slope.

    The best division of the rest is sought near the last one: neighbouring shares have neighbouring divisions.
    """

    def __init__(self, components: Components, component: str) -> None:
        assert components.function is not None and components.fit is not None
        self._function: NestedIntercepts = components.function
        self._component = component
        self._others = [name for name in COMPONENTS if name != component]
        rest = 1 - components.share(component)
        self._division = min(1.0, components.share(self._others[0]) / rest) if rest > 0 else 0.5
        self._step = 0.02
        self._lowest = components.fit.deviance
        self._share = components.share(component)
        self._curved = self._curvature(components)

    def _ratios(self, share: float, division: float) -> tuple[float, float, np.ndarray]:
        """Return the ratios of conversation and participant, and their slopes in share and division, shape (2, 2)."""
        rest = 1 - share
        one, two = self._others
        shares = {self._component: share, one: rest * division, two: rest * (1 - division)}
        turn = max(shares["turn"], _LEAST)
        a, b = shares["conversation"] / turn, shares["participant"] / turn
        in_share = {self._component: 1.0, one: -division, two: division - 1}
        in_division = {self._component: 0.0, one: rest, two: -rest}
        slopes = [
            [
                (moves["conversation"] - a * moves["turn"]) / turn,
                (moves["participant"] - b * moves["turn"]) / turn,
            ]
            for moves in (in_share, in_division)
        ]
        return a, b, np.array(slopes)

    def _curvature(self, components: Components) -> np.ndarray | None:
        """Return the second derivatives by share and division at the optimum; None at a boundary."""
        assert components.fit is not None
        given = components.fit.curvature
        if given is None or not (components.fit.ratios > 0).all():
            return None
        _, _, slopes = self._ratios(self._share, self._division)
        found = slopes @ given @ slopes.T
        return found if found[1, 1] > 0 and np.linalg.det(found) > 0 else None

    def _at(self, share: float, division: float) -> tuple[float, float, float]:
        """Return the deviance, and its slopes in the share and in the division of the rest."""
        a, b, slopes = self._ratios(share, division)
        value, gradient = self._function.deviance_and_gradient(a, b)
        in_share, in_division = slopes @ gradient
        return value, float(in_share), float(in_division)

    def best(self, share: float) -> tuple[float, float]:
        """Return the smallest deviance at a share, and how fast it changes with the share."""
        place, step = self._division, self._step
        if self._curved is not None:
            # Where the quadratic at the optimum has its valley, as seen from the last one found.
            place -= self._curved[0, 1] / self._curved[1, 1] * (share - self._share)
            place = min(max(place, 0.0), 1.0)
        first = place
        low, high = -1.0, 2.0
        before: tuple[float, float] | None = None
        apart = 0.0
        value, in_share = math.inf, math.nan
        for _ in range(60):
            value, in_share, slope = self._at(share, place)
            if not math.isfinite(slope) or slope == 0:
                break
            low, high = (low, place) if slope > 0 else (place, high)
            if high == 0.0 or low == 1.0:
                break
            move = -math.copysign(step, slope)
            if before is None and self._curved is not None:
                newton = -slope / self._curved[1, 1]
                if abs(slope * newton) < _EXACT:
                    break
                move = min(max(newton, -0.1), 0.1)
            step *= 2
            if before is not None and (slope - before[1]) * (place - before[0]) > 0:
                secant = -slope * (place - before[0]) / (slope - before[1])
                apart = abs(place - before[0])
                if apart < 0.1 and abs(slope * secant) < _EXACT:
                    break
                if abs(secant) < 4 * apart:
                    move = secant
            after = min(max(place + move, 0.0), 1.0)
            if not low < after < high or (high - low < 1 and abs(move) < 0.01 * (high - low) and apart > 0.1):
                after = (low + high) / 2
            if abs(after - place) < 1e-10:
                break
            before, place = (place, slope), after
        self._step = min(0.1, max(1e-4, abs(place - first) / 2))
        self._division, self._share = place, share
        return value, in_share

    def crossing(self, best: float, end: float) -> float:
        """Return where, from the best share towards an end of the range, the deviance has risen by 3.84."""
        if abs(best - end) < 1e-9:
            return end
        inside = end + (best - end) * 1e-6
        wanted = math.sqrt(_CHI2_95)
        # The root of the rise is all but linear in the share, so that Newton's search takes a few steps only.
        near, far, reaches = best, inside, False
        share = best + 0.25 * (end - best)
        if self._curved is not None:
            bend = float(self._curved[0, 0] - self._curved[0, 1] ** 2 / self._curved[1, 1])
            reach = math.sqrt(2 * _CHI2_95 / bend) if bend > 0 else math.inf
            share = best + math.copysign(min(reach, 0.9 * abs(end - best)), end - best)
        for _ in range(60):
            value, slope = self.best(share)
            rise = math.sqrt(max(value - self._lowest, 0.0)) if math.isfinite(value) else math.inf
            if abs(rise - wanted) < 1e-7:
                return share
            if rise > wanted:
                far, reaches = share, True
            elif share == inside:
                return end
            else:
                near = share
            after = math.nan
            if 0 < rise < math.inf and slope * (end - best) > 0:
                after = share - (rise - wanted) * 2 * rise / slope
            if not min(near, far) < after < max(near, far):
                after = (near + far) / 2 if reaches else inside
            if abs(after - share) < 1e-9:
                return after
            share = after
        return share
