import TillAPI
import TillBilling
import TillCrypto
import TillHTTP
import TillLedger

/// Which page of a list is asked for.
///
/// A cursor is opaque text, and of one epoch of the ledger: a ledger that was put back to a backup gives the positions
/// behind it to other rows, and a reader who went on there would miss some.
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
            throw Refused(.invalidField, "\(name): as nextCursor of an earlier page, unchanged")
        }
        guard known == epoch else { throw Refused(.staleCursor) }
        self.position = position
    }

    /// Where a list that begins with the newest goes on.
    var before: Int64 { position ?? .max }
    /// Where a list that begins with the oldest goes on.
    var after: Int64 { position ?? 0 }
    /// One row more than the page has, which says whether there is another page.
    var rows: Int { limit + 1 }

    func cursor(_ position: Int64) -> String { Base64.encode(Array("\(epoch).\(position)".utf8), .url) }

    /// - Parameters:
    ///   - found: at most `rows`.
    ///   - position: of a row.
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
    /// - Parameter name: the parameter that holds the cursor.
    func page(_ call: Call, cursor name: String = "cursor") async throws -> PageRequest {
        try PageRequest(call, cursor: name, epoch: try await ledger.epoch())
    }
}
