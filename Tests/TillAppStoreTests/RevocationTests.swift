import Testing
import TillAppStore
import TillBilling
import TillCrypto

@Suite("Revocation is checked once and cached; a missing answer is no forgery (field G7)", .timeLimit(.minutes(2)))
struct RevocationTests {
    @Test("Leaf and intermediate are checked at the addresses they name; repeated checks use the cache")
    func asks() async throws {
        let responder = RevocationResponder()
        let checker = responder.checker()
        #expect(checker.known(responder.observations()) == nil)
        #expect(await checker.status(of: responder.observations()) == .good)
        let requests = responder.requests
        #expect(Set(requests.map(\.url)) == [RevocationResponder.leafURL, RevocationResponder.intermediateURL])
        for request in requests {
            #expect(request.method == .post && !request.body.isEmpty && request.responseLimit == 64 << 10)
            #expect(request.headers.contains(.init("Content-Type", "application/ocsp-request")))
        }
        #expect(checker.known(responder.observations()) == .good)
        #expect(await checker.status(of: responder.observations()) == .good)
        #expect(responder.takeCount() == 2)
    }

    @Test("A hundred concurrent proofs send one request for each certificate, and all get the answer")
    func crowd() async {
        let responder = RevocationResponder()
        responder.hold(true)
        let checker = responder.checker(.hard)
        let observations = responder.observations()
        let standings = await withTaskGroup(of: SignerStatus.self) { group in
            for _ in 0..<100 { group.addTask { await checker.status(of: observations) } }
            group.addTask {
                while responder.requests.count < 2 { await Task.yield() }
                for _ in 0..<200 { await Task.yield() }
                responder.hold(false)
                return .good
            }
            return await group.reduce(into: [SignerStatus]()) { $0.append($1) }
        }
        #expect(standings.count == 101 && Set(standings) == [.good])
        #expect(responder.takeCount() == 2)
    }

    @Test("A cancelled caller cancels no other: another caller asks instead, and the responder is not held at fault")
    func givesUp() async {
        let responder = RevocationResponder()
        responder.hold(true)
        let checker = responder.checker(.hard)
        let observations = responder.observations()
        let first = Task { await checker.status(of: observations) }
        while responder.requests.count < 2 { await Task.yield() }
        let second = Task { await checker.status(of: observations) }
        for _ in 0..<200 { await Task.yield() }
        #expect(responder.requests.count == 2)
        first.cancel()
        guard case .unknown = await first.value else {
            Issue.record("who gave up knows nothing")
            return
        }
        while responder.requests.count < 4 { await Task.yield() }
        responder.hold(false)
        #expect(await second.value == .good)
    }

    /// Reason, whether the proof was signed before the revocation, and the result (docs/decisions/0015).
    private static let reasons: [(Int32, isBefore: Bool, String)] = [
        (-1, true, "revoked"), (0, true, "revoked"), (1, true, "revoked"), (2, true, "revoked"),
        (10, true, "revoked"), (8, true, "revoked"), (77, true, "revoked"),
        (3, true, "good"), (4, true, "good"), (5, true, "good"), (9, true, "good"), (6, true, "good"),
        (1, false, "revoked"), (3, false, "revoked"), (4, false, "revoked"), (5, false, "revoked"),
        (9, false, "revoked"), (-1, false, "revoked"), (6, false, "onHold"),
    ]

    @Test("The effect of a revocation on a proof depends on its reason and on which came first")
    func reasons() async {
        for (reason, isBefore, expected) in Self.reasons {
            for isLeaf in [true, false] {
                let responder = RevocationResponder()
                let date = TestAuthority.today.adding(seconds: isBefore ? 1 : -1)
                let conduct = RevocationResponder.Conduct.revoked(at: date, reason: reason)
                if isLeaf { responder.behave(leaf: conduct) } else { responder.behave(intermediate: conduct) }
                let checker = responder.checker()
                let status = await checker.status(of: responder.observations())
                #expect("\(status)".hasPrefix(expected), "reason \(reason), \(isBefore), \(status)")
                // Without a date, no proof counts as older than the revocation.
                if expected != "onHold", reason != 6 {
                    let dateless = await checker.status(of: responder.observations(signedAt: nil))
                    #expect("\(dateless)".hasPrefix("revoked"))
                }
                guard case .revoked(let text) = status else { continue }
                #expect(text.contains(date.rfc3339) && text.contains(isLeaf ? "Test Leaf" : "Test Intermediate"))
            }
        }
    }

    @Test("Revoked is final: no further request is sent, after any time and with any other certificates")
    func final() async {
        let responder = RevocationResponder()
        responder.behave(leaf: .revoked(at: TestAuthority.today, reason: 1), intermediate: .outage(.timedOut))
        let checker = responder.checker()
        guard case .revoked = await checker.status(of: responder.observations()) else {
            Issue.record("not revoked")
            return
        }
        _ = responder.takeCount()
        responder.behave(leaf: .good(forSeconds: 100))
        responder.advance(seconds: 365 * 86_400)
        guard case .revoked = checker.known(responder.observations()) else {
            Issue.record("no longer revoked")
            return
        }
        #expect(responder.takeCount() == 0)
    }

    @Test("A hold is checked again, and may be lifted")
    func hold() async {
        let responder = RevocationResponder()
        responder.behave(leaf: .revoked(at: TestAuthority.today, reason: 6))
        let checker = responder.checker()
        guard case .onHold = await checker.status(of: responder.observations()) else {
            Issue.record("not on hold")
            return
        }
        // An outage lifts no hold.
        responder.behave(leaf: .outage(.unreachable))
        responder.advance(seconds: 601)
        guard case .onHold = await checker.status(of: responder.observations()) else {
            Issue.record("lifted by an outage")
            return
        }
        responder.behave(leaf: .good(forSeconds: 86_400))
        responder.advance(seconds: 601)
        #expect(await checker.status(of: responder.observations()) == .good)
    }

    /// Every response that gives no answer.
    private static let silences: [RevocationResponder.Conduct] = [
        .outage(.unreachable), .outage(.timedOut), .outage(.responseTooLarge), .unheardOf,
        .bytes(Array("<html>Service Unavailable</html>".utf8), status: 200), .bytes([], status: 200),
        .bytes([], status: 500), .bytes([], status: 302), .bytes([0x30, 3, 0x0A, 1, 3], status: 200),
        .bytes([UInt8](repeating: 0x30, count: 70_000), status: 200), .forged(isRevoked: true),
        .forged(isRevoked: false), .another(isRevoked: true), .another(isRevoked: false),
        .good(forSeconds: -1_000), .silent,
    ]

    @Test("Down, slow, stale, forged or about another certificate: neither good nor revoked; paused, then asked again")
    func silences() async {
        for conduct in Self.silences {
            let responder = RevocationResponder()
            responder.beImpatient()
            responder.behave(leaf: conduct)
            let checker = responder.checker()
            var pause: Int64 = 15
            for _ in 0..<8 {
                let status = await checker.status(of: responder.observations())
                guard case .unknown(let text) = status else {
                    Issue.record("\(conduct): \(status)")
                    break
                }
                #expect(text.hasPrefix("CN=Test Leaf"))
                _ = responder.takeCount()
                responder.advance(seconds: pause - 1)
                #expect(await checker.status(of: responder.observations()) == status)
                #expect(responder.requests.filter { $0.url == RevocationResponder.leafURL }.isEmpty, "\(conduct)")
                responder.advance(seconds: 1)
                #expect(checker.known(responder.observations()) == nil)
                pause = min(pause * 2, 600)
            }
            responder.behave(leaf: .good(forSeconds: 86_400))
            #expect(await checker.status(of: responder.observations()) == .good, "\(conduct)")
        }
    }

    @Test("A good answer is renewed halfway through its life; during an outage it stays valid until its end")
    func renewal() async {
        let responder = RevocationResponder()
        responder.behave(leaf: .good(forSeconds: 3_600))
        let checker = responder.checker(.hard)
        let observations = responder.observations()
        #expect(await checker.status(of: observations) == .good)
        responder.advance(seconds: 1_799)
        #expect(checker.known(observations) == .good)
        responder.advance(seconds: 1)
        #expect(checker.known(observations) == nil)
        responder.behave(leaf: .outage(.unreachable))
        #expect(await checker.status(of: observations) == .good)
        responder.advance(seconds: 14)
        #expect(checker.known(observations) == .good)
        responder.advance(seconds: 1_786)
        guard case .unknown = await checker.status(of: observations) else {
            Issue.record("trusted beyond its end")
            return
        }
        responder.behave(leaf: .good(forSeconds: nil))
        responder.advance(seconds: 600)
        #expect(await checker.status(of: observations) == .good)
    }

    @Test("While one caller renews a good answer, the others keep using it")
    func renewalDoesNotWait() async {
        let responder = RevocationResponder()
        let checker = responder.checker(.hard)
        let observations = responder.observations()
        _ = await checker.status(of: observations)
        responder.advance(seconds: 4 * 3_600)
        responder.hold(true)
        _ = responder.takeCount()
        let renewing = Task { await checker.status(of: observations) }
        while responder.requests.count < 2 { await Task.yield() }
        #expect(checker.known(observations) == .good)
        responder.hold(false)
        #expect(await renewing.value == .good)
    }

    @Test("An answer counts for six hours at most, 15 minutes without a next update, and not after the clock went back")
    func lifetimes() async {
        for (validity, life) in [(Int64?(365 * 86_400), Int64(6 * 3_600)), (nil, 900)] {
            let responder = RevocationResponder()
            responder.behave(leaf: .good(forSeconds: validity), intermediate: .good(forSeconds: validity))
            let checker = responder.checker(.hard)
            let observations = responder.observations()
            #expect(await checker.status(of: observations) == .good)
            responder.behave(leaf: .outage(.timedOut), intermediate: .outage(.timedOut))
            responder.advance(seconds: life - 1)
            #expect(await checker.status(of: observations) == .good)
            responder.advance(seconds: 60)
            guard case .unknown = await checker.status(of: observations) else {
                Issue.record("trusted for longer than \(life)")
                continue
            }
        }
        let responder = RevocationResponder()
        let checker = responder.checker()
        _ = await checker.status(of: responder.observations())
        responder.advance(seconds: -60)
        #expect(checker.known(responder.observations()) == nil)
    }

    @Test("A certificate without a responder address is unknown, and no request is sent")
    func unnamed() async {
        let responder = RevocationResponder(urls: false)
        guard case .unknown = await responder.checker().status(of: responder.observations()) else {
            Issue.record("known without a question")
            return
        }
        #expect(responder.takeCount() == 0)
    }

    @Test("The cache is bounded, and revoked certificates are removed last")
    func bounded() async {
        let first = RevocationResponder()
        first.behave(leaf: .revoked(at: TestAuthority.today, reason: 1))
        let checker = first.checker()
        _ = await checker.status(of: first.observations())
        for _ in 0..<40 { _ = await checker.status(of: RevocationResponder().observations()) }
        #expect(checker.rememberedCount == 32)
        guard case .revoked = checker.known(first.observations()) else {
            Issue.record("forgotten")
            return
        }
    }
}
