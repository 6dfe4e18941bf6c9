import Foundation
import Testing
import TillBilling
import TillJSON
import TillLedger

@testable import TillServer

/// What the journeys of imports do with a shop.
struct ImportShop {
    let shop: Shop

    /// When Apple is asked about rows without a signature.
    var verify = ImportVerification.later

    var work: LedgerImport { get throws { try LedgerImport(shop.server.ledger, verify: verify) } }

    struct Ended: Equatable {
        var imported = 0
        var unchanged = 0
        var waiting = 0
        /// By line: the code.
        var refused: [Int64: String] = [:]
    }

    static func entries(_ rows: [JSONValue]) -> [ImportEntry] {
        rows.enumerated().map { ImportEntry(line: Int64($0.offset + 1), object: Array($0.element.encoded().utf8)) }
    }

    static func ended(_ outcomes: [ImportOutcome]) -> Ended {
        outcomes.reduce(into: Ended()) { ended, outcome in
            switch outcome.result {
            case .imported: ended.imported += 1
            case .unchanged: ended.unchanged += 1
            case .refused(let why): ended.refused[outcome.line] = why.code
            case .waiting: ended.waiting += 1
            }
        }
    }

    func check(_ rows: [JSONValue], as format: ImportFormat) async throws -> Ended {
        Self.ended(try await work.check(Self.entries(rows), as: format))
    }

    /// Imports rows as one file.
    func move(
        _ rows: [JSONValue], as format: ImportFormat, digit: UInt8 = 1
    ) async throws -> (run: ImportTable.Stored, ended: Ended) {
        let file = ImportedFile(
            format: format, name: "orders", sha256: [UInt8](repeating: digit, count: 32))
        let run = try await work.begin(file, by: "till")
        let outcomes = try await work.record(Self.entries(rows), into: run, by: "till")
        var counts = ImportCounts()
        for outcome in outcomes { counts.add(outcome.result) }
        return (try await work.end(run, counts), Self.ended(outcomes))
    }

    func undo(
        _ run: ImportTable.Stored, isForced: Bool = false, isDry: Bool = false
    ) async throws -> LedgerImport.UndoPage {
        var (all, position) = (LedgerImport.UndoPage(), Int64?.none)
        repeat {
            let page = try await work.undo(run, after: position, isForced: isForced, isDry: isDry, by: "till")
            all.undone += page.undone
            all.kept += page.kept
            position = page.next
        } while position != nil
        return all
    }

    static func signed(_ payment: Payment, _ user: String, order: OrderID? = nil) -> JSONValue {
        var row: [String: JSONValue] = ["userId": .string(user), "signedTransaction": .string(payment.signed)]
        if let order { row["orderId"] = .string(order.description) }
        return .object(row)
    }

    // MARK: What a customer sees

    struct View: Equatable {
        let points: Int64
        let orders: [String]
        let entitlements: JSONValue
    }

    /// - Parameter hasIDs: whether order ids count.
    func view(of user: String, hasIDs: Bool = true) async throws -> View {
        let orders = try await shop.send(.get, "/v1/users/\(user)/orders?environment=sandbox")["data"].list
        return View(
            points: try await shop.points(of: user),
            orders: orders.map { order in
                let id = hasIDs ? order.at("id").text + " " : ""
                return id + order.at("productId").text + " " + order.at("status").text + " "
                    + order.at("transactionId").text
            }.sorted(),
            entitlements: try await shop.send(.get, "/v1/users/\(user)/entitlements?environment=sandbox").body)
    }

    func events() async throws -> [String] {
        try await shop.send(.get, "/v1/events?limit=100")["data"].list.map { $0.at("type").text }
    }

    /// The rules of every ledger hold.
    func audit() async throws {
        let violations = try await shop.ledger.read { try LedgerAudit.violations($0) }
        #expect(violations.isEmpty, "\(violations.map(\.text.en))")
    }
}
