import TillBilling
import TillHTTP

/// What the list of orders is narrowed to, as it stands in the page's address.
struct OrderFilter: Sendable, Hashable {
    var status: OrderStatus?
    var user: UserID?
    /// An order id, or a transaction id of either environment. It decides alone.
    var search: String?

    /// Empty fields of the form mean nothing; a status there isn't neither.
    init(_ request: HTTPRequest) throws {
        status = request.queryValue("status").flatMap { OrderStatus(name: $0) }
        user = try Self.field("user", of: request).map(Bounds.user)
        search = try Self.field("q", of: request)
    }

    init() {}

    var isEmpty: Bool { status == nil && user == nil && search == nil }

    var query: [(name: StaticString, value: String)] {
        var items: [(name: StaticString, value: String)] = []
        if let status { items.append(("status", status.name)) }
        if let user { items.append(("user", user.text)) }
        if let search { items.append(("q", search)) }
        return items
    }

    private static func field(_ name: StaticString, of request: HTTPRequest) throws -> String? {
        let text = (request.queryValue("\(name)") ?? "").drop { $0 == " " }
        let trimmed = String(text.reversed().drop { $0 == " " }.reversed())
        return trimmed.isEmpty ? nil : try Bounds.string(trimmed, "\(name)", 128)
    }
}
