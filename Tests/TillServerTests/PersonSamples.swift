import TillAPI
import TillBilling
import TillHTTP
import TillJSON

extension OpenAPITests {
    /// Calls about a person: method, pattern, address, body, status. The server has no key for erasures.
    static let personCalls: [(HTTPMethod, String, String, JSONValue?, Int)] = [
        (.get, Paths.customerExport, "/v1/users/u2/export", nil, 200),
        (.get, Paths.customerExport, "/v1/users/u2/export?limit=1", nil, 200),
        // Merged into another account by the calls before.
        (.get, Paths.customerExport, "/v1/users/u1/export", nil, 409),
        (.get, Paths.customerExport, "/v1/users/stranger/export", nil, 404),
        (.get, Paths.customerExport, "/v1/users/u2/export?cursor=x", nil, 400),
        (.post, Paths.customerErasure, "/v1/users/u1/erasure", ["endsAccess": "yes"], 400),
        (.post, Paths.customerErasure, "/v1/users/u1/erasure", nil, 501),
    ]

    static var personSamples: [String: (full: JSONValue, least: JSONValue)] {
        get throws {
            let item: JSONValue = ["list": "customers", "item": ["userId": "u"]]
            let page: JSONValue = ["format": 1, "data": [item], "hasMore": true, "nextCursor": "MS4w"]
            return [
                "Erase": try both(EraseBody(forfeit: ["points": 1], endsAccess: true), EraseBody()),
                "Erasure": try same(
                    ErasureReply(
                        pseudonym: UserID("erased:00112233445566778899aabbccddeeff"),
                        erasedAt: Instant(seconds: 1_790_000_000), guests: 0)),
                "ExportPage": (page, page), "ExportItem": (item, item),
            ]
        }
    }
}
