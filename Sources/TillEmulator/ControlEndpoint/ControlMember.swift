import TillBilling

/// One member of a JSON object of the control API, or one item of a query: its name, what it holds, what it is for.
/// Bodies are checked against these, and OpenAPI is written from them, so the two can't differ.
struct ControlMember: Sendable {
    enum Kind: Sendable {
        /// Of 1 to so many bytes.
        case text(limit: Int)
        case integer(ClosedRange<Int64>)
        /// Any number of JSON, such as a probability.
        case number
        case bool
        case uuid
        /// RFC 3339 with milliseconds, from 1970 on.
        case instant
        /// A length of time such as `30d` or `1d12h`.
        case span
        case choice([String])
        case object([ControlMember])
        case list([ControlMember])
        case texts
        /// An object whose names are not known beforehand, such as prices by storefront.
        case map
    }

    let name: String
    let kind: Kind
    let isRequired: Bool
    /// What it is for, in both languages.
    let note: Text

    init(_ name: String, _ kind: Kind, required: Bool = false, _ note: Text) {
        self.name = name
        self.kind = kind
        isRequired = required
        self.note = note
    }
}

/// What an answer of the control API holds.
struct ControlAnswer: Sendable {
    /// The name of its schema in OpenAPI.
    let name: String
    let members: [ControlMember]

    init(_ name: String, _ members: [ControlMember]) {
        self.name = name
        self.members = members
    }
}
