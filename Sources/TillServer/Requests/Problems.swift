import TillAPI
import TillBilling
import TillHTTP
import TillLedger
import TillSQL

extension Refusal {
    /// The HTTP status of a refusal.
    var status: Int {
        switch self {
        case .malformedJSON, .invalidField: 400
        case .unauthorized: 401
        case .forbidden, .notAGuest, .offerNotOpen: 403
        case .notFound, .unknownOrder, .unknownEntitlement, .unknownTransfer, .unknownTransaction, .unknownEndpoint,
            .unknownEvent, .unknownUser, .unknownImport:
            404
        case .methodNotAllowed: 405
        case .orderConflict, .tokenInUse, .staleCursor, .illegalMove, .previewChanged, .insufficientFunds,
            .referenceConflict,
            .inDebt, .idempotencyInFlight, .guestTaken, .guestMerged, .accountMerged, .notTheOwner, .undoExpired,
            .notReversible, .notInQuarantine,
            .notClaimable, .erasureUnconfirmed, .importUndone:
            409
        case .payloadTooLarge: 413
        case .tooManyRequests, .tooManyOrders: 429
        case .internalError: 500
        case .noInAppPurchaseKey, .noOrderLookup, .noErasureKey: 501
        case .unavailable, .revocationUnknown: 503
        default: 422
        }
    }
}

extension Server {
    /// Seconds after which a client should retry when the server can't store anything.
    static let retryAfter = "5"
    /// Seconds after which a client should retry when Apple doesn't answer: about when the server asks Apple again.
    static let retryAfterOutage = "30"

    /// Runs a handler and turns what it throws into a problem.
    func answering(
        _ request: HTTPRequest, _ action: () async throws -> HTTPResponse
    ) async -> HTTPResponse {
        do {
            return try await action()
        } catch let refused as RefusalError {
            return problem(refused, for: request)
        } catch {
            return problem(serverError(error).refusal, for: request)
        }
    }

    func problem(_ refused: RefusalError, for request: HTTPRequest) -> HTTPResponse {
        var response = problem(refused.refusal, for: request, detail: refused.detail)
        if let seconds = refused.retryAfter { response.headers.set("Retry-After", String(seconds)) }
        return response
    }

    /// Writes a log line about an error of this server's own, which the caller learns only by its kind.
    func serverError(_ error: any Error) -> RefusalError {
        let isRetryable = (error as? DatabaseError)?.isRetryable ?? false
        let refusal: Refusal = isRetryable ? .unavailable : .internalError
        log.write(.serverError, ["code": .text(refusal.rawValue), "cause": .cause(error)])
        return RefusalError(refusal)
    }

    func problem(_ refusal: Refusal, for request: HTTPRequest, detail: LocalizedText? = nil) -> HTTPResponse {
        requestFigures.refused(refusal, at: monitoring.stopwatch())
        let language = Language(preference: request.headers["Accept-Language"] ?? "")
        let trace = RequestTrace.current
        trace?.note(code: refusal.rawValue)
        let requestID = trace?.requestID ?? freshRequestID()
        let problem = ProblemDetails(
            refusal: refusal, status: refusal.status, language: language, requestId: requestID,
            detail: detail?[language])
        var response = HTTPResponse(status: refusal.status, body: JSONText.encode(problem))
        response.headers.add("Content-Type", ProblemDetails.contentType)
        response.headers.add("Content-Language", language.rawValue)
        response.headers.set("X-Request-Id", requestID)
        switch refusal {
        case .unauthorized: response.headers.add("WWW-Authenticate", "Bearer")
        case .unavailable, .tooManyRequests, .tooManyOrders, .idempotencyInFlight:
            response.headers.add("Retry-After", Self.retryAfter)
        case .revocationUnknown: response.headers.add("Retry-After", Self.retryAfterOutage)
        default: break
        }
        return response
    }
}
