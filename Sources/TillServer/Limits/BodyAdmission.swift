import TillBilling
import TillHTTP
import TillLedger

/// Decides which long bodies to accept before they are read (``Admission``). A route with the credential in a header
/// requires a valid one. The other routes limit how many bodies from unauthenticated clients arrive at the same time.
extension Server {
    /// For routes whose credential is in the header.
    func admit(_ verify: @escaping @Sendable (HTTPRequest) throws -> Void) -> Admission.Decide {
        { [self] head, _ in
            do {
                try verify(head)
                return .admitted()
            } catch let refused as RefusalError {
                return .refused(problem(refused, for: head))
            } catch {
                return .refused(problem(serverError(error).refusal, for: head))
            }
        }
    }

    /// Requires a valid key or token in the header.
    var signedInOnly: Admission.Decide {
        admit { [self] head in try limiter.requireRoom(for: try bearer(of: head).credential) }
    }

    /// For routes that accept bodies from unauthenticated clients.
    ///
    /// - Parameters:
    ///   - countsAddress: whether a client whose address has no request left is refused.
    ///   - crowded: the response when a limit is reached; a problem by default.
    func anonymousAdmission(countsAddress: Bool = false, crowded: HTTPResponse? = nil) -> Admission.Decide {
        { [self] head, length in
            do throws(RefusalError) {
                if countsAddress { try limiter.requireRoom(forAddressOf: head) }
            } catch {
                return .refused(crowded ?? problem(error, for: head))
            }
            if let share = anonymousBodies.take(weight: length, from: head.clientNetwork) {
                return .admitted(token: share)
            }
            log.write(.limitReached, ["limit": "anonymous_bodies", "network": .text(head.clientNetworkForLogs)])
            return .refused(
                crowded
                    ?? problem(
                        .unavailable, for: head,
                        detail: LocalizedText(en: "too many long bodies at once", zh: "同时接收的大请求体过多")))
        }
    }

    /// Half of the memory for all bodies (`ListenerConfiguration.bodyMemoryLimit`), so that customers always find room;
    /// one network may use half of that.
    static let anonymousBodyLimits = Quota.Limits(
        count: 64, weight: 64 << 20, countPerSource: 32, weightPerSource: 32 << 20)
}
