import CTillOpenSSL

/// Runs OpenSSL work and leaves the thread's error queue empty, so that a later caller does not read the reasons of an
/// earlier failure as its own.
func clearingErrors<Result, Failure: Error>(_ work: () throws(Failure) -> Result) throws(Failure) -> Result {
    defer { ERR_clear_error() }
    return try work()
}
