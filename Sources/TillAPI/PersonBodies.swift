import TillBilling

/// `POST /v1/users/{userId}/erasure`.
public struct EraseBody: Codable, Sendable {
    /// The points in the wallet, by kind, which the person loses. Absent if there are none.
    public var forfeit: [String: Int64]?
    /// Whether the customer is erased although a subscription still runs or may renew.
    public var endsAccess: Bool?

    public init(forfeit: [String: Int64]? = nil, endsAccess: Bool? = nil) {
        self.forfeit = forfeit
        self.endsAccess = endsAccess
    }
}

/// An erasure in a response.
public struct ErasureReply: Codable, Sendable, Hashable {
    /// The user id that the customer's rows show now. It does not contain the erased one.
    public let pseudonym: String
    public let erasedAt: Instant
    /// The guests of the account that were erased with it.
    public let guests: Int

    public init(pseudonym: UserID, erasedAt: Instant, guests: Int) {
        self.pseudonym = pseudonym.text
        self.erasedAt = erasedAt
        self.guests = guests
    }
}
