import TillBilling
import TillJSON
import TillSQL

/// Everything that a ledger holds about a person, in pages of bounded size: first the customer's own rows, list by
/// list, then in each list those of the guests merged into the account.
package struct CustomerExport: Sendable {
    /// One item with the name of its list.
    package struct Item: Sendable {
        package let list: String
        package let item: JSONValue
    }

    package struct Page: Sendable {
        package let items: [Item]
        /// Where the next page begins; nil after the last one.
        package let next: Int64?
    }

    /// The number of the format, raised when a member changes its meaning.
    package static let format: Int64 = 1

    private let database: any Database
    private let user: UserID

    package init(of user: UserID, in database: any Database) {
        self.user = user
        self.database = database
    }

    /// The lists, in the order of the document.
    package static var lists: [String] { ExportSection.all.map(\.name) }

    /// - Parameters:
    ///   - position: `next` of the page before; nil for the first page.
    ///   - limit: orders, or rows of other lists, that are read. An order may have several rows in one list.
    /// - Throws: `unknown_user`; `guest_merged` for a guest that became part of an account.
    package func page(after position: Int64?, limit: Int) async throws -> Page {
        let user = user
        return try await database.read { connection in
            guard let own = try PersonTable(connection).find(user) else { throw RefusalError(.unknownUser) }
            let customers = CustomerTable(connection)
            try customers.requireUnmerged(user)
            let guests = try customers.guests(of: user).compactMap { try PersonTable(connection).find($0) }
            let reader = ExportReader(people: [own] + guests, connection: connection)
            return try reader.page(position.map(ExportPosition.init) ?? ExportPosition(), limit: limit)
        }
    }

    /// What an export leaves out, and why.
    package static let omissions: [(what: String, why: LocalizedText)] = [
        (
            "signedProofs",
            LocalizedText(
                en: "The signed form of transactions, renewals, receipts and notifications. Its content about this "
                    + "person is in the lists; a receipt can also list purchases of other people.",
                zh: "交易、续订、收据与通知的签名原文。其中关于本人的内容已在各列表中；收据还可能含有他人的购买。")
        ),
        (
            "otherPeople",
            LocalizedText(
                en: "The other party of a transfer, operators, other owners of a subscription, and texts that may name "
                    + "them: reasons of transfers, details of evidence, records of refused proofs.",
                zh: "转移的另一方、运营人员、同一订阅的其他归属客户，以及可能提到他们的文字：转移理由、依据详情、被拒凭证的检查记录。")
        ),
        (
            "repetitions",
            LocalizedText(
                en: "What repeats the lists: the data of events, answers that are stored for 48 hours, points of "
                    + "transfers, Apple's transaction chains, hashes of erasures.",
                zh: "与各列表重复的内容：事件数据、保存 48 小时的应答、转移的点数、Apple 的交易链、抹除的哈希值。")
        ),
        (
            "outside",
            LocalizedText(
                en: "Log lines of the server and copies in backups. They are outside of the ledger.",
                zh: "服务器日志与备份中的副本，它们不在账本之内。")
        ),
    ]

    /// The personal columns that an export leaves out, by the omission that says why.
    static let omitted: [String: Set<String>] = [
        "signedProofs": [
            "subscriptions.renewal_proof", "proofs.body", "compressed_proofs.body", "saved_proofs.body",
            "waiting_receipts.body", "notifications.payload", "foreign_notifications.payload", "unmatched_tokens.token",
            "apple_tasks.token",
        ],
        "otherPeople": [
            "consents.caller_kind", "consents.caller_key", "evidence.detail", "evidence.caller_kind",
            "evidence.caller_key", "grants.caller_key", "transfers.reason", "transfers.caller_kind",
            "transfers.caller_key", "transfers.operator", "claims.caller_kind", "claims.caller_key", "claims.operator",
            "quarantine_reasons.caller_kind", "quarantine_reasons.caller_key", "postings.caller_kind",
            "postings.caller_key", "refused_proofs.detail", "refused_proofs.record", "ownership_basis.contested_token",
        ],
        "repetitions": [
            "outbox.body", "idempotency_keys.credential", "idempotency_keys.body", "transfer_points.environment",
            "transfer_points.currency", "transfer_points.amount", "apple_chains.environment",
            "apple_chains.original_id", "apple_chains.customer", "erasures.user_hash", "erasures.sealed_name",
            "sealed_changes.was", "sealed_changes.now", "saved_proofs.caller",
            "saved_proofs.named_user", "waiting_proofs.caller", "waiting_proofs.named_user", "differences.order_id",
            "differences.purchased_at", "imported_tokens.token", "account_token_log.token",
            "account_token_log.sealed_token", "account_token_log.at",
        ],
        "outside": [],
    ]
}

/// Where a page of an export begins: a list, a customer of the person, and the last row that was read.
private struct ExportPosition {
    var list = 0
    var person = 0
    var row: Int64 = 0

    init() {}

    init(_ number: Int64) {
        list = Int(number >> 56 & 0x3F)
        person = Int(number >> 40 & 0xFFFF)
        row = number & 0xFF_FFFF_FFFF
    }

    var number: Int64 { Int64(list) << 56 | Int64(person) << 40 | row }
}

private struct ExportReader {
    let people: [Erasures.Person]
    let connection: any Connection

    /// Lists that one page reads at most: those of an account with many guests may all be empty.
    private static let queryLimit = 400

    func page(_ start: ExportPosition, limit: Int) throws -> CustomerExport.Page {
        var (position, items): (ExportPosition, [CustomerExport.Item]) = (start, [])
        var (left, queries) = (limit, 0)
        while position.list < ExportSection.all.count, left > 0, queries < Self.queryLimit {
            guard position.person < people.count else {
                position = ExportPosition(list: position.list + 1)
                continue
            }
            let section = ExportSection.all[position.list]
            let last = try read(section, &position, limit: left, into: &items)
            left -= last.read
            queries += 1
            if last.isEnd {
                position.person += 1
                position.row = 0
            }
        }
        let isEnd = position.list >= ExportSection.all.count
        return CustomerExport.Page(items: items, next: isEnd ? nil : position.number)
    }

    /// - Returns: how many positions were read, and whether the list ended.
    private func read(
        _ section: ExportSection, _ position: inout ExportPosition, limit: Int,
        into items: inout [CustomerExport.Item]
    ) throws -> (read: Int, isEnd: Bool) {
        let person = people[position.person]
        let guest = position.person > 0 ? person.user.text : nil
        var bound = Int64(limit)
        var orders = 0
        if section.isOfOrders {
            let page = try PersonTable(connection).orders(
                of: person.customerID, after: position.row, limit: limit)
            guard let last = page.last else { return (0, true) }
            (bound, orders) = (last.rowID, page.count)
        }
        let found = try connection.query(
            section.rows, [.integer(person.customerID), .integer(position.row), .integer(bound)]
        ) { row -> (Int64, JSONValue) in
            var item = try section.item(row)
            if let guest, case .object(var members) = item {
                members["guestId"] = .string(guest)
                item = .object(members)
            }
            return (row.integer("position"), item)
        }
        items += found.map { CustomerExport.Item(list: section.name, item: $0.1) }
        if section.isOfOrders {
            position.row = bound
            return (orders, orders < limit)
        }
        if let last = found.last { position.row = last.0 }
        return (found.count, found.count < limit)
    }
}

extension ExportPosition {
    fileprivate init(list: Int) {
        self.list = list
    }
}
