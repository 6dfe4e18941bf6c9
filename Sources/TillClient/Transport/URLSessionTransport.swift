#if canImport(Darwin)
    import Foundation

    // Not compiled here: there is no Apple SDK on Linux, where the composition root brings a transport of its own.

    extension Transport {
        /// Over a `URLSession`. Redirects are answers, not followed: a sign-in page in between is no word of the
        /// server's (P11).
        ///
        /// - Parameter session: one without cookies and cache is best (`URLSessionConfiguration.ephemeral`).
        public static func urlSession(_ session: URLSession) -> Transport {
            Transport { (request) async throws(TransportFault) -> TransportResponse in
                guard let url = URL(string: request.url) else { throw TransportFault(.other, "not a URL") }
                var outgoing = URLRequest(url: url)
                outgoing.httpMethod = request.method
                outgoing.httpBody = request.body.isEmpty ? nil : Data(request.body)
                outgoing.cachePolicy = .reloadIgnoringLocalCacheData
                for (name, value) in request.headers { outgoing.setValue(value, forHTTPHeaderField: name) }
                do {
                    let (data, response) = try await session.data(for: outgoing, delegate: NoRedirects())
                    guard let response = response as? HTTPURLResponse, data.count <= 1 << 20 else {
                        throw TransportFault(.other, "no HTTP answer, or one of more than 1 MiB")
                    }
                    return TransportResponse(
                        status: response.statusCode,
                        contentType: response.value(forHTTPHeaderField: "Content-Type") ?? "",
                        retryAfter: response.value(forHTTPHeaderField: "Retry-After").flatMap { Int64($0) },
                        body: [UInt8](data))
                } catch let fault as TransportFault {
                    throw fault
                } catch {
                    throw TransportFault(error)
                }
            }
        }
    }

    private final class NoRedirects: NSObject, URLSessionTaskDelegate {
        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
        ) {
            completionHandler(nil)
        }
    }

    extension TransportFault {
        /// NSURLErrorDomain's codes, told apart from the store's own errors (P3).
        public init(_ error: any Error) {
            let kind: Kind =
                switch (error as? URLError)?.code {
                case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff: .offline
                case .cannotFindHost, .dnsLookupFailed: .cannotFindServer
                case .cannotConnectToHost: .cannotConnect
                case .timedOut: .timedOut
                case .networkConnectionLost: .connectionLost
                case .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
                    .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid,
                    .appTransportSecurityRequiresSecureConnection:
                    .insecure
                default: .other
                }
            self.init(kind, error.localizedDescription)
        }
    }
#endif
