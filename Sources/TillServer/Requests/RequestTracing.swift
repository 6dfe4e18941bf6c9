import TillBilling
import TillHTTP
import TillLedger

/// Each request has an id: in its log lines, in the answer's `X-Request-Id`, and in a problem's `requestId`.
extension Server {
    /// Writes the log line of each request, and gives it its id.
    var surroundings: Router.Surroundings {
        Router.Surroundings { [self] request, route, answer in
            let (trace, start) = (trace(of: request), clock())
            return await RequestTrace.$current.withValue(trace) {
                var response = await answer()
                finish(&response, trace)
                write(request, route, response, trace, since: start)
                return response
            }
        } admit: { [self] head, route, admit in
            let (trace, start) = (trace(of: head), clock())
            return RequestTrace.$current.withValue(trace) {
                let admission = admit()
                guard case .refused(var response) = admission else { return admission }
                finish(&response, trace)
                write(head, route, response, trace, since: start)
                return .refused(response)
            }
        }
    }

    func freshRequestID() -> String { UniqueID(random: entropy(16)).description }

    private func trace(of request: HTTPRequest) -> RequestTrace {
        RequestTrace(
            requestID: request.headers["X-Request-Id"].flatMap(RequestTrace.accepted(requestID:)) ?? freshRequestID(),
            traceID: request.headers["traceparent"].flatMap(RequestTrace.traceID(ofParent:)))
    }

    private func finish(_ response: inout HTTPResponse, _ trace: RequestTrace) {
        if !response.isHangUp { response.headers.set("X-Request-Id", trace.requestID) }
    }

    private func write(
        _ request: HTTPRequest, _ route: String?, _ response: HTTPResponse, _ trace: RequestTrace, since start: Instant
    ) {
        let notes = trace.notes
        log.write(
            .request,
            [
                "method": .text(request.method.rawValue), "route": .text(route ?? Self.unknownRoute),
                "status": .integer(response.status),
                "ms": .integer(max(0, clock().milliseconds - start.milliseconds)),
                "caller": .text(notes.caller ?? Credential.anonymous.name), "code": .text(notes.code),
                "network": .text(notes.caller == nil ? request.clientNetworkForLogs : nil),
            ])
    }

    /// The route of a request for an unknown address. The address itself may contain anything.
    static let unknownRoute = "unmatched"

    /// The response to a request that the listener refuses before any route is known, with its log line.
    public func response(to refusal: ListenerRefusal, acceptLanguage: String?) -> HTTPResponse {
        let trace = RequestTrace(requestID: freshRequestID())
        RequestTrace.$current.withValue(trace) {
            log.write(.requestUnread, ["status": .integer(refusal.status), "code": .text(refusal.code)])
        }
        return refusal.response(acceptLanguage: acceptLanguage, requestID: trace.requestID)
    }
}

extension RequestTrace {
    /// Bytes of an id that a caller chooses.
    static let longestRequestID = 128

    /// The caller's own id, if it is short and consists of letters, digits and `-_.:/+=@`. Anything else is ignored.
    static func accepted(requestID text: String) -> String? {
        let isPlain = text.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || "-_.:/+=@".utf8.contains(byte)
        }
        return isPlain && (1...longestRequestID).contains(text.utf8.count) ? text : nil
    }

    /// The trace id of a `traceparent` (W3C Trace Context): `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`.
    static func traceID(ofParent text: String) -> String? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard text.utf8.count <= longestRequestID, parts.count >= 4, parts[0] != "ff",
            parts[0] != "00" || parts.count == 4,
            parts.prefix(4).map(\.utf8.count) == [2, 32, 16, 2],
            parts.prefix(4).allSatisfy({ $0.utf8.allSatisfy(isLowerHexadecimal) }),
            parts[1].contains(where: { $0 != "0" }), parts[2].contains(where: { $0 != "0" })
        else { return nil }
        return String(parts[1])
    }

    private static func isLowerHexadecimal(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
    }
}
