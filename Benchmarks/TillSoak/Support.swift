import TillBilling
import TillHTTP
import TillJSON
import TillTestDatabases

/// The app's support: assigns purchases without a signed token, which nothing else could attribute, to the first user
/// of the customer's phone, through the server's API for such claims.
struct Support: Sendable {
    let server: String
    let secretKey: String
    let send: HTTPSend
    let control: StoreControl
    let ledger: LedgerPlace
    let tally: Tally

    /// - Returns: by transaction, the user who received it. Empty if this server has no such API.
    func claimAll() async throws -> [String: String] {
        var claims: [String: String] = [:]
        let quarantine = try await LedgerContents.quarantined(in: ledger)
        guard !quarantine.isEmpty else { return [:] }
        for account in Phone.accounts {
            guard let user = Phone.all.first(where: { $0.account == account })?.users.first else { continue }
            let sales = try await control.list("/emulator/transactions?account=\(account)&state=purchased")
                .compactMap(Sale.init)
            for sale in sales where sale.token == nil && !sale.isRevoked && quarantine.contains(sale.id) {
                guard try await claim(sale.id, for: user) else { continue }
                claims[sale.id] = user
                tally.add(.deeds, "claimed by support")
            }
        }
        return claims
    }

    private func claim(_ transaction: String, for user: String) async throws -> Bool {
        let body: JSONValue = [
            "userId": .string(user), "reason": "The store lost who bought it", "operator": "support",
        ]
        let headers = HTTPHeaders([
            (name: "Authorization", value: "Bearer \(secretKey)"), (name: "Content-Type", value: "application/json"),
        ])
        let response = try await send(
            "\(server)/v1/quarantine/\(transaction)/claims",
            HTTPRequest(method: .post, path: "", headers: headers, body: Array(body.encoded().utf8)))
        return response.status == 200
    }
}
