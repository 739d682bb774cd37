from appliance.commands.outcome import DONE, EVIDENCE_MISSING, FAILED, USAGE, EvidenceMissing, Outcome
from appliance.errors import ProofError


def test_exit_codes():
    # operations.md, "Commands": exit 0 done, 1 refused or failed, 2 wrong usage, 3 evidence missing.
    assert (DONE, FAILED, USAGE, EVIDENCE_MISSING) == (0, 1, 2, 3)


def test_an_outcome_is_done_unless_it_says_otherwise():
    assert Outcome().code == DONE


def test_missing_evidence_is_an_error_of_proofs_with_a_code_of_its_own():
    assert issubclass(EvidenceMissing, ProofError)
    assert EvidenceMissing.code != ProofError.code
