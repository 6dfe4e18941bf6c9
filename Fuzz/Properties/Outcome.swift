import TillAppStore

/// The accepted value; nil for a refusal. A refusal with the verdict `ok` breaks a property.
func accepted<Verified>(
    _ verify: () throws(VerificationError) -> Verified
) throws(PropertyError) -> Verified? {
    do throws(VerificationError) {
        return try verify()
    } catch {
        try hold(error.verdict != .ok, "a refusal does not say ok")
        return nil
    }
}

/// The verdict of a refusal; nil if the proof is accepted.
func refusal<Verified>(
    _ verify: () throws(VerificationError) -> Verified
) throws(PropertyError) -> Verdict? {
    do throws(VerificationError) {
        _ = try verify()
        return nil
    } catch {
        try hold(error.verdict != .ok, "a refusal does not say ok")
        return error.verdict
    }
}
