import TillAPI
import TillBilling
import TillJSON
import TillLedger
import TillSQL

extension Flag {
    fileprivate static let events = Flag(
        "events", .text("FILE"),
        summary: LocalizedText(
            en: "events that your backend received, one JSON object a line", zh: "后端收到的事件，每行一个 JSON 对象"))
    fileprivate static let orders = Flag(
        "orders", .text("FILE"),
        summary: LocalizedText(
            en: "orders that your backend opened: {\"id\", \"userId\"} on each line",
            zh: "后端创建的订单：每行 {\"id\", \"userId\"}"))
    fileprivate static let debits = Flag(
        "debits", .text("FILE"),
        summary: LocalizedText(
            en: "debits that your backend made: {\"userId\", \"currency\", \"amount\", \"reference\"} on each line",
            zh: "后端做过的扣减：每行 {\"userId\", \"currency\", \"amount\", \"reference\"}"))
}

extension Command {
    /// `till recover`: what happened after the backup from which the ledger was restored.
    static let recover = Command(
        "recover",
        summary: LocalizedText(
            en: "bring back what happened between a backup and its restore", zh: "找回备份之后、恢复之前发生的事"),
        discussion: LocalizedText(
            en: """
                Call it when a restored ledger is served again. It waits until the ledger is compared with Apple, which
                grants what was bought and revokes what was refunded. Then it reads what you give it. Events of
                purchases and your own orders say who bought what Apple reports without a known buyer; guests are merged
                again; debits that the ledger lacks are made again. A file may contain more than what is missing, and
                the command may be repeated: nothing is done twice.
                Ends with 1 if a line could not be brought back; each is printed with its reason. --dry-run is not
                offered, because the comparison itself grants. --key-file needs a secret key.
                --json prints {"reconciliation", "claimed", "known", "merged", "debited", "unresolved": [{"line",
                "reason"}], "waiting"}: "waiting" purchases are in quarantine still.
                """,
            zh: """
                恢复后的账本重新投入服务时运行。本命令先等待账本与 Apple 对账完成：对账会发放已购买的、撤销已退款的。
                然后读取你提供的文件：购买事件与你自己的订单说明 Apple 报告的购买属于谁；游客重新合并；
                账本缺少的扣减重新执行。文件可以包含并未丢失的内容，命令也可以重复运行：不会重复执行。
                有任何一行无法找回时以 1 结束，并逐行说明原因。不提供 --dry-run，因为对账本身就会发放。
                --key-file 需要后端密钥。
                --json 输出 {"reconciliation", "claimed", "known", "merged", "debited", "unresolved": [{"line",
                "reason"}], "waiting"}，其中 "waiting" 是仍待认领的购买数。
                """),
        flags: Configuration.flags + [.keyFile, .events, .orders, .debits]
    ) { call in
        let configuration = try Configuration.load(for: call)
        let facts =
            try call.facts(.events, RecoveredFact.event) + call.facts(.orders, RecoveredFact.order)
            + call.facts(.debits, RecoveredFact.debit)
        guard let restore = try await configuration.database.lastRestore() else {
            throw CommandError(
                LocalizedText(
                    en: "the ledger \(configuration.database.name) was never restored: nothing is to be brought back",
                    zh: "账本 \(configuration.database.name) 从未恢复过：没有需要找回的内容"))
        }
        let server = try ServerClient(configuration, call)
        defer { server.stop() }
        return try await Recovery(server: server, call: call).run(facts, since: restore)
    }
}

extension LedgerLocation {
    fileprivate func lastRestore() async throws -> LedgerRestoreTable.Restore? {
        do {
            let ledger = try labelled("till-recover").open(as: .operator, .served).database
            defer { Task { await ledger.close() } }
            return try await ledger.read { try LedgerRestoreTable($0).last() }
        } catch let error as DatabaseError {
            throw failure(error)
        }
    }
}

extension Invocation {
    fileprivate func facts(
        _ flag: Flag, _ read: (JSONValue) throws -> RecoveredFact?
    ) throws -> [RecoveredFact.Line] {
        try text(flag).map { try RecoveredFact.lines(of: $0, read) } ?? []
    }
}

/// What the shop says happened after the backup.
enum RecoveredFact: Sendable {
    /// A purchase was granted to a user.
    case purchase(transaction: String, user: String, environment: String?)
    /// An order was opened for a user.
    case order(id: String, user: String)
    case merge(guest: String, into: String)
    case debit(user: String, DebitBody)
    /// An operator's deed that only a person can repeat.
    case byHand(LocalizedText)

    struct Line: Sendable {
        /// The file and the number of the line.
        let place: String
        let fact: RecoveredFact
    }

    /// In bytes.
    private static let mostBytes = 1 << 30

    /// - Parameter read: nil for a line without consequence.
    /// - Throws: `CommandError` that names the first line which is not what the file should contain.
    static func lines(
        of path: String, _ read: (JSONValue) throws -> RecoveredFact?
    ) throws -> [Line] {
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try readFile(path, limit: mostBytes)
        } catch {
            throw CommandError(error.sentence)
        }
        var lines: [Line] = []
        for (index, text) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            guard text.contains(where: { $0 > 0x20 }) else { continue }
            let place = "\(shown(path)):\(index + 1)"
            guard let value = try? JSONValue(decoding: text), value.object != nil else {
                throw CommandError(
                    LocalizedText(en: "\(place): is not a JSON object", zh: "\(place)：不是 JSON 对象"))
            }
            do {
                if let fact = try read(value) { lines.append(Line(place: place, fact: fact)) }
            } catch let missing as MissingMember {
                throw CommandError(
                    LocalizedText(
                        en: "\(place): \"\(missing.name)\" is missing or has another type",
                        zh: "\(place)：缺少 \"\(missing.name)\"，或类型不对"))
            }
        }
        return lines
    }

    private struct MissingMember: Error { let name: String }

    private static func text(_ name: String, _ value: JSONValue) throws -> String {
        guard let text = value[name]?.string, !text.isEmpty else { throw MissingMember(name: name) }
        return text
    }

    static func event(_ value: JSONValue) throws -> RecoveredFact? {
        let (type, data) = (try text("type", value), value["data"] ?? .null)
        switch type {
        case "grant.created":
            return .purchase(
                transaction: try text("transactionId", data), user: try text("userId", value),
                environment: value["environment"]?.string)
        case "guest.merged": return .merge(guest: try text("from", data), into: try text("to", data))
        case "transfer.created" where ["support", "reversal"].contains(data["kind"]?.string):
            let (from, to) = (shown(try text("from", data)), shown(try text("to", data)))
            let chains = (data["grants"]?.array ?? []).compactMap { $0["originalTransactionId"]?.string }
            let list = Set(chains.map { shown($0) }).sorted().joined(separator: ", ")
            return .byHand(
                LocalizedText(
                    en: "an operator moved purchases from \(from) to \(to): repeat it by POST /v1/transfers (\(list))",
                    zh: "运营人员曾把购买从 \(from) 移到 \(to)：请用 POST /v1/transfers 重做（\(list)）"))
        default: return nil
        }
    }

    static func order(_ value: JSONValue) throws -> RecoveredFact? {
        .order(id: try text("id", value).lowercased(), user: try text("userId", value))
    }

    static func debit(_ value: JSONValue) throws -> RecoveredFact? {
        guard let amount = value["amount"]?.int else { throw MissingMember(name: "amount") }
        return .debit(
            user: try text("userId", value),
            DebitBody(
                currency: try text("currency", value), amount: amount, reference: try text("reference", value)))
    }
}
