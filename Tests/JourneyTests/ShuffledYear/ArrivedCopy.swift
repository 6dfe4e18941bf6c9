import Testing
import TillCrypto
import TillJSON

/// One copy of a transaction as it reached a server, as a line of text. It is not verified: it serves the reader of a
/// failed test.
struct ArrivedCopy {
    let id: String
    let original: String
    let line: String

    static func payload(of token: String) throws -> JSONValue {
        let parts = token.split(separator: ".")
        let bytes = try #require(parts.count == 3 ? Base64.decode(parts[1], .url) : nil)
        return try JSONValue(decoding: bytes)
    }

    static func all(in arrival: YearServer.Arrival) throws -> [ArrivedCopy] {
        switch arrival {
        case .notification(let text):
            let notification = try payload(of: text)
            let name = [notification.at("notificationType").text, notification.at("subtype").text]
                .filter { !$0.isEmpty }.joined(separator: "/")
            guard let signed = notification.at("data").at("signedTransactionInfo").string else { return [] }
            return [try ArrivedCopy(signed, by: name)]
        case .proof(let signed): return [try ArrivedCopy(signed, by: "app")]
        case .answer(let body):
            guard let answer = try? JSONValue(decoding: body) else { return [] }
            var tokens = answer.at("signedTransactions").list.compactMap(\.string)
            for group in answer.at("data").list {
                tokens += group.at("lastTransactions").list.compactMap { $0.at("signedTransactionInfo").string }
            }
            let notifications = try answer.at("notificationHistory").list.compactMap { item in
                try item.at("signedPayload").string.map { try all(in: .notification($0)) }
            }
            return try tokens.map { try ArrivedCopy($0, by: "history") } + notifications.flatMap { $0 }
        }
    }

    private init(_ token: String, by source: String) throws {
        let transaction = try Self.payload(of: token)
        id = transaction.at("transactionId").text
        original = transaction.at("originalTransactionId").text
        func day(_ name: String) -> String? {
            transaction.at(name).int.map { milliseconds in
                let hundredths = (milliseconds - YearWorld.start.milliseconds) / 864_000
                return "\(name) day \(hundredths / 100).\(hundredths % 100)"
            }
        }
        var words = [source, id, transaction.at("productId").text, transaction.at("transactionReason").text]
        words += ["signedDate", "purchaseDate", "expiresDate", "revocationDate"].compactMap(day)
        if transaction.at("isUpgraded").bool == true { words.append("upgraded") }
        if transaction.at("inAppOwnershipType").text == "FAMILY_SHARED" { words.append("shared") }
        words.append(transaction.at("appAccountToken").string.map { "token \($0)" } ?? "no token")
        line = words.joined(separator: " ")
    }
}
