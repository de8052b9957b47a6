"""What the tests of exports share: the findings of every analysis on the sample, found once."""

import pytest

from dashboard.analyses import registry
from dashboard.analyses.findings import Selection, run_analysis
from dashboard.database import connect
from dashboard.paths import SAMPLE
from dashboard.vocabulary import TooLittleData


@pytest.fixture(scope="session")
def answers():
    """The sample's data, and the findings of every analysis by its name."""
    data = connect(SAMPLE, public=False)
    found = {}
    for one in registry().values():
        try:
            found[one.name] = run_analysis(data, one, Selection(), one.parameters())
        except TooLittleData:
            continue
    return data, found
