import TillBilling

/// A page that says how to get the next one.
public protocol ServerAPIPage: Sendable {
    var hasMore: Bool { get }
    /// What the next page is asked with.
    var nextToken: String? { get }
}

/// All pages, one request each, in Apple's order.
///
/// What changes while one walks may come again, newer (facts/server-api §4.1): whoever imports must be able to meet a
/// transaction twice. A fault does not move the walk: asking for the next page again asks for the same one.
public struct PageWalk<Page: ServerAPIPage>: AsyncSequence, Sendable {
    public typealias Element = Answered<Page>
    typealias Fetch =
        @Sendable (_ token: String?, _ environment: Environment?) async throws(ServerAPIFault)
        -> Answered<Page>

    let start: String?
    let environment: Environment?
    /// A walk that would take more pages ends with `unreadable(endless)`.
    let pageLimit: Int
    let fetch: Fetch

    /// Twenty entries a page: enough for the most faithful customer, and an end for a server that has none.
    public static var usualPageLimit: Int { 1_000 }

    public func makeAsyncIterator() -> Iterator { Iterator(walk: self) }

    public struct Iterator: AsyncIteratorProtocol {
        private let walk: PageWalk
        private var token: String?
        private var environment: Environment?
        private var seen: Set<String>
        private var pages = 0
        private var isOver = false

        init(walk: PageWalk) {
            self.walk = walk
            token = walk.start
            environment = walk.environment
            seen = walk.start.map { [$0] } ?? []
        }

        public mutating func next() async throws(ServerAPIFault) -> Answered<Page>? {
            if isOver { return nil }
            guard pages < walk.pageLimit else { throw Self.endless("more than \(walk.pageLimit) pages") }
            let answered = try await walk.fetch(token, environment)
            // The first page shows where the customer is; no later one is asked elsewhere.
            environment = answered.environment
            pages += 1
            guard answered.value.hasMore else {
                isOver = true
                return answered
            }
            guard let next = answered.value.nextToken, seen.insert(next).inserted else {
                throw Self.endless("page \(pages) leads back to one before")
            }
            token = next
            return answered
        }

        private static func endless(_ detail: String) -> ServerAPIFault {
            .unreadable(UnreadableAnswer(.endless, status: 200, detail))
        }
    }
}
