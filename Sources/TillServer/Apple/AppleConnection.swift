import TillAppStore
import TillBilling
import TillHTTP
import TillJSON
import TillLedger

/// Returns the effect that sends requests to Apple's services through an HTTP client.
public func appleExchange(over send: @escaping HTTPSend) -> AppleSend {
    { (request) async throws(AppleConnectionError) -> AppleResponse in
        let method: HTTPMethod =
            switch request.method {
            case .get: .get
            case .post: .post
            case .put: .put
            }
        let headers = HTTPHeaders(request.headers.map { ($0.name, $0.value) })
        // The destination comes from the URL alone; `HTTPSend` ignores the request's path.
        let message = HTTPRequest(method: method, path: "/", headers: headers, body: request.body)
        let response: HTTPResponse
        do throws(HTTPError) {
            response = try await send(request.url, message)
        } catch {
            throw AppleConnectionError(error)
        }
        guard response.body.count <= request.responseLimit else {
            throw AppleConnectionError(
                .responseTooLarge, "\(response.body.count) bytes, \(request.responseLimit) at most")
        }
        let fields = response.headers.fields.map { AppleRequest.Header($0.name, $0.value) }
        return AppleResponse(status: response.status, headers: fields, body: response.body)
    }
}

extension AppleConnectionError {
    init(_ error: HTTPError) {
        let reason: Reason =
            switch error.kind {
            case .badURL, .cannotResolve, .cannotConnect, .addressRefused, .tls, .other: .unreachable
            case .timedOut: .timedOut
            case .connectionLost: .connectionLost
            case .responseTooLarge: .responseTooLarge
            case .stopped: .stopped
            }
        self.init(reason, error.detail)
    }
}

/// Returns the effect that sends requests to Apple's services and writes a log line about each.
public func logging(
    _ exchange: @escaping AppleSend, in log: Log, clock: @escaping @Sendable () -> Instant
) -> AppleSend {
    { (request) async throws(AppleConnectionError) -> AppleResponse in
        let start = clock()
        func fields() -> Log.Fields {
            [
                "method": .text(request.method.rawValue), "host": .text(request.host),
                "path": .text(request.pathPattern),
                "ms": .integer(max(0, clock().milliseconds - start.milliseconds)),
            ]
        }
        do throws(AppleConnectionError) {
            let response = try await exchange(request)
            var fields = fields()
            fields.append("status", .integer(response.status))
            fields.append("code", .integer(response.appleCode))
            log.write(response.isFailure ? .appleRequestFailed : .appleRequest, fields)
            return response
        } catch {
            // The stop of this process says nothing about Apple.
            if error.reason != .stopped {
                var fields = fields()
                fields.append("code", .text(error.reason.rawValue))
                fields.append("cause", .text(error.detail.isEmpty ? nil : error.detail))
                log.write(.appleRequestFailed, fields)
            }
            throw error
        }
    }
}

extension AppleRequest {
    private var parts: (host: Substring, path: Substring) {
        let rest = url.hasPrefix("https://") ? url.dropFirst(8) : url.hasPrefix("http://") ? url.dropFirst(7) : url[...]
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        return (rest[..<end], rest[end...].prefix { $0 != "?" })
    }

    fileprivate var host: String { String(parts.host) }

    /// The path without ids: a number, and what is longer than the names in Apple's paths.
    fileprivate var pathPattern: String {
        parts.path.split(separator: "/").map { part in
            part.utf8.count > 32 || part.contains(where: \.isNumber) && part != "v1" && part != "v2" ? "{id}" : part
        }.reduce(into: "") { $0 += "/" + $1 }
    }
}

extension AppleResponse {
    /// Whether Apple's service or this server's key fails. That Apple does not know an id is an answer like another.
    fileprivate var isFailure: Bool {
        status >= 500 || (300..<400).contains(status) || [401, 403, 407, 429].contains(status)
    }

    /// The `errorCode` of the App Store Server API.
    fileprivate var appleCode: Int64? {
        guard status >= 400, body.count <= 4_096, let members = try? JSONValue(decoding: body) else { return nil }
        return members["errorCode"]?.int
    }
}
