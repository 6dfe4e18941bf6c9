import Foundation
import TillHTTP

/// The way to an emulated App Store: over HTTP to a running `till emulate`, or straight into one in this process.
public struct StoreConnection: Sendable {
    /// Sends a request whose path and query are the store's own.
    let send: Send

    /// To a store that listens.
    ///
    /// - Parameter url: such as `http://127.0.0.1:8789`.
    /// - Throws: `HTTPFault` if there is no HTTP client to be had.
    public static func http(_ url: String) throws -> StoreConnection {
        let base = url.hasSuffix("/") ? String(url.dropLast()) : url
        let fetch = try Fetch()
        return StoreConnection { (request) async throws(HTTPFault) -> HTTPResponse in
            try await fetch.send(base + Self.target(of: request), request)
        }
    }

    /// Into a store in this process: `StoreConnection.inProcess { await emulator.respond(to: $0) }`.
    public static func inProcess(
        _ respond: @escaping @Sendable (HTTPRequest) async -> HTTPResponse
    ) -> StoreConnection {
        StoreConnection { (request) async throws(HTTPFault) -> HTTPResponse in
            try await respond(request).arrived()
        }
    }

    /// The same way with something in between: a line that is cut, or slow.
    public func through(
        _ line: @escaping @Sendable (HTTPRequest, Send) async throws(HTTPFault) -> HTTPResponse
    ) -> StoreConnection {
        let send = send
        return StoreConnection { (request) async throws(HTTPFault) -> HTTPResponse in try await line(request, send) }
    }

    public typealias Send = @Sendable (HTTPRequest) async throws(HTTPFault) -> HTTPResponse

    private static func target(of request: HTTPRequest) -> String {
        let path = request.path.split(separator: "/", omittingEmptySubsequences: false).map { escaped($0) }
        let query = request.query.map { "\(escaped($0.name[...]))=\(escaped($0.value[...]))" }
        return path.joined(separator: "/") + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
    }

    private static func escaped(_ text: Substring) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    /// RFC 3986 §2.3.
    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
}
