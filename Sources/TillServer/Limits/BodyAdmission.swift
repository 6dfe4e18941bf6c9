import TillBilling
import TillHTTP
import TillLedger

/// Which long bodies are taken, decided before they are read (``Admission``). Where a header shows the credential, it
/// must be good; where the credential is in the body or nowhere, only so many strangers' bodies come in at once.
extension Server {
    /// For routes whose credential is in the header.
    func admit(_ verify: @escaping @Sendable (HTTPRequest) throws -> Void) -> Admission.Decide {
        { head, _ in
            do {
                try verify(head)
                return .admitted()
            } catch let refused as Refused {
                return .refused(problem(refused.refusal, for: head, detail: refused.detail))
            } catch {
                return .refused(problem(.internalError, for: head))
            }
        }
    }

    /// For those who show a key or a token in the header.
    var signedInOnly: Admission.Decide {
        admit { head in _ = try authentication.credential(of: head) }
    }

    /// For routes that take bodies from strangers.
    /// - Parameter crowded: the response where there is no room; a problem unless told.
    func strangers(crowded: HTTPResponse? = nil) -> Admission.Decide {
        { head, length in
            if let share = strangersBodies.take(weight: length, from: head.clientNetwork) {
                return .admitted(holding: share)
            }
            return .refused(crowded ?? problem(.unavailable, for: head, detail: "too many long bodies at once"))
        }
    }

    /// Half of what all bodies may take up (`ListenerConfiguration.bodyMemoryLimit`), so that customers always find
    /// room, and half of that for one address.
    static let strangersBodyLimits = Quota.Limits(
        count: 64, weight: 64 << 20, countPerSource: 32, weightPerSource: 32 << 20)
}
