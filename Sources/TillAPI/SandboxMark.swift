import TillBilling

extension Environment {
    /// What answers say beside a status: `true` in the sandbox, where nobody paid anything, and nothing elsewhere. So
    /// that no backend gives real goods by a status alone.
    public var sandboxMark: Bool? { self == .sandbox ? true : nil }
}
