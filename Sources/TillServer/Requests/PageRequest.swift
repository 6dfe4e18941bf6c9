import TillAPI
import TillBilling
import TillCrypto
import TillHTTP
import TillLedger

/// The page of a list that a request asks for.
///
/// A cursor is opaque and valid for one epoch of the ledger. After a restore from a backup, later positions belong to
/// different rows, and a reader that continued from an old cursor would miss some.
struct PageRequest: Sendable {
    let limit: Int
    /// Nil on the first page.
    let position: Int64?
    private let epoch: Int64

    init(_ call: Call, cursor name: String = "cursor", epoch: Int64) throws {
        limit = try call.limit()
        self.epoch = epoch
        guard let asked = call.request.queryValue(name), asked != "0" else {
            position = nil
            return
        }
        let parts = (Base64.decode(asked, .url) ?? []).split(separator: UInt8(ascii: "."))
            .map { Int64(String(decoding: $0, as: UTF8.self)) }
        guard parts.count == 2, let known = parts[0], let position = parts[1], position >= 0 else {
            throw RefusalError(
                .invalidField, "\(name): must be the nextCursor of an earlier page, unchanged",
                zh: "\(name)：应为前一页的 nextCursor，原样传回")
        }
        guard known == epoch else { throw RefusalError(.staleCursor) }
        self.position = position
    }

    /// The upper bound for a list that starts with the newest row.
    var before: Int64 { position ?? .max }
    /// The lower bound for a list that starts with the oldest row.
    var after: Int64 { position ?? 0 }
    /// One row more than the page holds, to detect whether another page follows.
    var rows: Int { limit + 1 }

    func cursor(_ position: Int64) -> String { Base64.encode(Array("\(epoch).\(position)".utf8), .url) }

    /// - Parameters:
    ///   - found: at most `rows`.
    ///   - position: the position of a row.
    func page<Row, Element: Codable & Sendable>(
        _ found: [Row], at position: (Row) -> Int64, _ element: (Row) throws -> Element
    ) rethrows -> Page<Element> {
        let page = found.prefix(limit)
        let hasMore = found.count > limit
        return Page(
            data: try page.map(element), hasMore: hasMore,
            nextCursor: hasMore ? page.last.map { cursor(position($0)) } : nil)
    }

    func response<Row, Element: Codable & Sendable>(
        _ found: [Row], at position: (Row) -> Int64, _ element: (Row) throws -> Element
    ) rethrows -> HTTPResponse {
        JSONText.response(200, try page(found, at: position, element))
    }
}

extension Server {
    /// - Parameter name: the query parameter that holds the cursor.
    func page(_ call: Call, cursor name: String = "cursor") async throws -> PageRequest {
        try PageRequest(call, cursor: name, epoch: try await ledger.cursorEpoch())
    }
}
