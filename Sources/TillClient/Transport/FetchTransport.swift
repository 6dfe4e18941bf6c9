#if os(Linux)
    import TillHTTP

    // On Linux, Foundation's URLSession terminates the process if a response ends inside its header (6.3,
    // `NativeProtocol`), so it cannot be used with untrusted servers. libcurl handles this case.

    extension Transport {
        /// Uses libcurl with the same limits and settings as `urlSession`: no cookies, no cache, no redirects.
        package static func fetch(limits: TransportLimits = TransportLimits()) -> Transport {
            var configuration = FetchConfiguration()
            configuration.totalTimeout = Int(limits.total * 1_000)
            configuration.connectTimeout = Int(min(limits.idle, limits.total) * 1_000)
            configuration.responseLimit = limits.bytes
            let fetch: Fetch
            do {
                fetch = try Fetch(configuration: configuration)
            } catch {
                let fault = TransportError(error)
                return Transport { (_) async throws(TransportError) -> TransportResponse in throw fault }
            }
            return Transport { (request) async throws(TransportError) -> TransportResponse in
                try await fetch.carry(request, limits)
            }
        }
    }

    extension Fetch {
        fileprivate func carry(
            _ request: TransportRequest, _ limits: TransportLimits
        ) async throws(TransportError) -> TransportResponse {
            var headers = HTTPHeaders()
            for (name, value) in request.headers.sorted(by: { $0.key < $1.key }) { headers.add(name, value) }
            let method = HTTPMethod(rawValue: request.method) ?? .post
            let response: HTTPResponse
            do throws(HTTPError) {
                response = try await send(
                    request.url, HTTPRequest(method: method, path: "", headers: headers, body: request.body))
            } catch {
                if error.kind == .responseTooLarge {
                    throw TransportError(.other, "an answer of more than \(limits.bytes) bytes")
                }
                throw TransportError(error)
            }
            return TransportResponse(
                status: response.status, contentType: response.headers["Content-Type"] ?? "",
                retryAfter: response.headers["Retry-After"].flatMap { Int64($0) }, etag: response.headers["ETag"],
                body: response.body)
        }
    }

    extension TransportError {
        package init(_ fault: HTTPError) {
            let kind: Kind =
                switch fault.kind {
                case .cannotResolve: .cannotFindServer
                case .cannotConnect: .cannotConnect
                case .timedOut: .timedOut
                case .connectionLost: .connectionLost
                case .tls: .insecure
                case .badURL, .addressRefused, .responseTooLarge, .stopped, .other: .other
                }
            self.init(kind, fault.detail)
        }
    }
#endif
