import TillAPI
import TillBilling
import TillHTTP
import TillJSON
import TillLedger

extension Server {
    /// `GET /v1/events?after=&limit=&user=`: the events that webhooks push, for a backend that fetches them; oldest
    /// first. `nextCursor` is always present, so that a reader at the end can continue from there.
    func listEvents(_ call: Call) async throws -> HTTPResponse {
        let page = try await page(call, cursor: "after")
        let user = try call.request.queryValue("user").map(InputLimits.user)
        try await ledger.placeEvents()
        let (events, hasMore, last) = try await database.read { connection in
            let (outbox, view) = (OutboxTable(connection), try EventView(connection))
            let found =
                try user.map { try outbox.list(of: $0, after: page.after, limit: page.rows) }
                ?? outbox.list(after: page.after, limit: page.rows)
            let events = found.prefix(page.limit)
            return (try events.map { try view.json($0) }, found.count > page.limit, events.last?.position ?? page.after)
        }
        let reply: JSONValue = [
            "data": .array(events), "hasMore": .bool(hasMore), "nextCursor": .string(page.cursor(last)),
        ]
        return JSONText.response(200, reply)
    }
}
