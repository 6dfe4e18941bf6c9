import TillAPI
import TillBilling
import TillHTTP
import TillJSON
import TillLedger

extension Server {
    /// `GET /v1/events?after=&limit=&user=`: what is pushed, for a backend that fetches; oldest first. `nextCursor` is
    /// always there, so that a reader at the end knows where to go on.
    func listEvents(_ call: Call) async throws -> HTTPResponse {
        let limit = try call.limit()
        var after: Int64 = 0
        if let asked = call.request.queryValue("after") {
            guard let number = Int64(asked), number >= 0 else {
                throw Refused(.invalidField, "after: the sequence of the last event that is known, or 0")
            }
            after = number
        }
        let start = after
        let user = try call.request.queryValue("user").map(Bounds.user)
        let (events, hasMore, last) = try await database.read { session in
            let (outbox, view) = (OutboxTable(session), EventView(session))
            let found =
                try user.map { try outbox.list(of: $0, after: start, limit: limit + 1) }
                ?? outbox.list(after: start, limit: limit + 1)
            let page = found.prefix(limit)
            return (try page.map { try view.json($0) }, found.count > limit, page.last?.sequence ?? start)
        }
        let reply: JSONValue = [
            "data": .array(events), "hasMore": .bool(hasMore), "nextCursor": .string(String(last)),
        ]
        return JSONText.response(200, reply)
    }
}
