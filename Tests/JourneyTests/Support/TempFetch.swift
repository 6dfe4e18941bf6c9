import TillHTTP
struct FetchConfiguration { }
final class Fetch: Sendable { init(configuration: FetchConfiguration) throws {}
 let send: HTTPSend = { _, _ async throws(HTTPFault) in throw HTTPFault(.other, "x") }
 func stop() async {} }
