import TillAppStore
import TillCrypto
import TillJSON

extension HostileCorpus {
    private func notification(_ data: [String: JSONValue?]) -> [UInt8] {
        authority.token(TestPayloads.notification(data: data))
    }

    private func text(_ token: [UInt8]) -> JSONValue { .string(String(decoding: token, as: UTF8.self)) }

    /// Notifications with a genuine signature around a false inner token.
    mutating func addNestedTokens() {
        var generator = generator(.nestedTokens)
        let inner = ["transaction": "signedTransactionInfo", "renewal": "signedRenewalInfo"]
        let bad = cases.filter {
            inner[$0.base.id] != nil && $0.family.isRefused && String(validating: $0.bytes, as: UTF8.self) != nil
        }
        for family in HostileFamily.allCases {
            let members = bad.filter { $0.family == family && $0.bytes.count < 20_000 }.shuffled(using: &generator)
            for member in members.prefix(16 * scale) {
                guard let name = inner[member.base.id] else { continue }
                add(
                    family.mayPassInspection ? .nestedPayloads : .nestedTokens, "notification",
                    "\(name): \(family.rawValue), \(member.harm)",
                    notification([name: text(member.bytes)]))
            }
        }
        func transaction(_ changes: [String: JSONValue?]) -> JSONValue {
            text(authority.token(TestPayloads.transaction(changes)))
        }
        func renewal(_ changes: [String: JSONValue?]) -> JSONValue {
            text(authority.token(TestPayloads.renewal(changes)))
        }
        let good = Self.tokenBases.map { ($0, text(bytes($0))) }
        for name in inner.values.sorted() {
            for (kind, token) in good where inner[kind] != name {
                add(.nestedTokens, "notification", "\(name) is a \(kind)", notification([name: token]), .malformed)
            }
            add(.nestedPayloads, "notification", "\(name) is empty", notification([name: ""]), .malformed)
            for (harm, value) in [("dots", ".."), ("text", "none")] as [(String, JSONValue)] {
                add(.nestedTokens, "notification", "\(name) is \(harm)", notification([name: value]), .malformed)
            }
        }
        let cases: [(String, [String: JSONValue?], Verdict)] = [
            ("another app's", ["signedTransactionInfo": transaction(["bundleId": "com.example.other"])], .wrongApp),
            (
                "a sandbox transaction", ["signedTransactionInfo": transaction(["environment": "Sandbox"])],
                .wrongEnvironment
            ),
            ("a sandbox renewal", ["signedRenewalInfo": renewal(["environment": "Sandbox"])], .wrongEnvironment),
            (
                "an Xcode transaction", ["signedTransactionInfo": transaction(["environment": "Xcode"])],
                .wrongEnvironment
            ),
            (
                "a late transaction", ["signedTransactionInfo": transaction(["signedDate": 1_767_225_600_000])],
                .chainExpired
            ),
            ("no app of its own", ["bundleId": nil, "signedTransactionInfo": transaction([:])], .wrongApp),
            ("swapped", ["signedTransactionInfo": renewal([:]), "signedRenewalInfo": transaction([:])], .malformed),
        ]
        for (name, data, verdict) in cases {
            add(.nestedTokens, "notification", name, notification(data), verdict)
        }
        addOtherSubjects()
    }

    /// Notifications about other subjects than one purchase, of another app or environment.
    private mutating func addOtherSubjects() {
        for extra in ["summary", "appData", "externalPurchaseToken"] {
            let part: JSONValue = [
                "bundleId": "com.example.other", "appAppleId": 1_234_567_890, "environment": "Production",
                "externalPurchaseId": "1", "signedAppTransactionInfo": "a.b.c",
            ]
            let payload = TestPayloads.notification(data: [:], ["data": nil, extra: part])
            // Unreadable data is reported before the wrong app.
            add(
                .nestedTokens, "notification", "\(extra) of another app", authority.token(payload),
                extra == "appData" ? .malformed : .wrongApp)
            let sandbox = TestPayloads.changed(
                part, ["bundleId": "com.example.learn", "environment": "Sandbox", "externalPurchaseId": "SANDBOX1"])
            let elsewhere = TestPayloads.notification(data: [:], ["data": nil, extra: sandbox])
            add(.nestedTokens, "notification", "\(extra) of the sandbox", authority.token(elsewhere))
        }
        let foreign = TestPayloads.appTransaction(["bundleId": "com.example.other"])
        for (name, token) in [("another app's", authority.token(foreign)), ("a transaction", bytes("transaction"))] {
            let appData: JSONValue = [
                "bundleId": "com.example.learn", "appAppleId": 1_234_567_890, "environment": "Production",
                "signedAppTransactionInfo": text(token),
            ]
            let payload = TestPayloads.notification(data: [:], ["data": nil, "appData": appData])
            add(.nestedTokens, "notification", "appData with \(name) token", authority.token(payload))
        }
    }
}

extension HostileFamily {
    var isRefused: Bool { if case .refused = ending { true } else { false } }
}
