"""The tests of stages that users write, on the emulated GPU."""

import pytest

pytest.importorskip("cupy", reason="EMULATED_GPU=1 is not set")

from tests.gpu.requested.test_custom import (  # noqa: F401
    test_a_program_that_differs_is_refused_unless_its_certificate_holds,
    test_an_error_of_an_operator_that_nobody_waited_for_names_its_line,
    test_the_tables_are_those_of_the_cpu,
    test_what_a_program_writes_into_the_graph_stays_in_its_call,
)
