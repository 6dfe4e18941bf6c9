import TillHTTP
import TillJSON

/// Reads the event feed with its cursor, as a backend without webhooks does.
struct FeedReader: Sendable {
    let send: HTTPSend

    /// The page after a cursor; nil without an answer.
    func page(after cursor: String?) async -> (events: [(id: String, sequence: Int64)], next: String, hasMore: Bool)? {
        let query = cursor.map { "&after=\($0)" } ?? ""
        let request = HTTPRequest(
            method: .get, path: "",
            headers: HTTPHeaders([(name: "Authorization", value: "Bearer \(LoadSet.secretKey)")]))
        guard let response = try? await send(FailoverCluster.entrance + "/v1/events?limit=100\(query)", request),
            response.status == 200, let json = try? JSONValue(decoding: response.body),
            let next = json["nextCursor"]?.string
        else { return nil }
        let events = (json["data"]?.array ?? []).compactMap { event -> (String, Int64)? in
            guard let id = event["id"]?.string, let sequence = event["sequence"]?.int else { return nil }
            return (id, sequence)
        }
        return (events, next, json["hasMore"]?.bool ?? false)
    }

    /// Follows the feed until it is told to stop.
    func follow(_ record: FailoverRecord, isOver: @Sendable () -> Bool) async throws {
        var cursor: String?
        while true {
            let wasOver = isOver()
            if let page = await page(after: cursor) {
                cursor = page.next
                record.note { $0.feed += page.events }
                if page.hasMore { continue }
                if wasOver { return }
            }
            try await Task.sleep(for: .milliseconds(500))
        }
    }
}
