/// Ends a test at an outcome it has no use for.
struct Unexpected: Error {
    let what: String
    init(_ what: String) { self.what = what }
}
