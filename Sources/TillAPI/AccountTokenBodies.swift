import TillBilling

/// A registered UUID that an app's backend sets as `appAccountToken` for all payments of a user.
public struct AccountTokenReply: Codable, Sendable, Hashable {
    public let token: UniqueID
    public let userId: String
    public let since: Instant

    public init(token: UniqueID, user: UserID, since: Instant) {
        self.token = token
        userId = user.text
        self.since = since
    }
}

/// `GET /v1/users/{userId}/account-tokens`: oldest first.
public struct AccountTokenList: Codable, Sendable {
    public let data: [AccountTokenReply]

    public init(data: [AccountTokenReply]) { self.data = data }
}
