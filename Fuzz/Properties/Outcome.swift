import TillAppStore

/// What a verification accepts; nil if it refuses. A refusal that says `ok` is none.
func accepted<Verified>(
    _ verify: () throws(VerificationFailure) -> Verified
) throws(BrokenProperty) -> Verified? {
    do throws(VerificationFailure) {
        return try verify()
    } catch {
        try hold(error.verdict != .ok, "a refusal does not say ok")
        return nil
    }
}

/// The verdict a verification fails with; nil if it accepts.
func refusal<Verified>(
    _ verify: () throws(VerificationFailure) -> Verified
) throws(BrokenProperty) -> Verdict? {
    do throws(VerificationFailure) {
        _ = try verify()
        return nil
    } catch {
        try hold(error.verdict != .ok, "a refusal does not say ok")
        return error.verdict
    }
}
