import TillAppStore
import TillBilling

/// What `till verify` tells people about a proof: its kind, each check, the verdict and what was read.
struct InspectionReport: Sendable {
    let inspection: ProofInspection
    let policy: InspectionPolicy

    /// Purchases of a receipt that are listed; heavy buyers' receipts have thousands.
    private static let mostPurchases = 20

    func lines(_ language: Language) -> [String] {
        var lines = [Text(en: "Kind: \(kind.en)", zh: "种类：\(kind.zh)")(language), ""]
        for check in checks {
            lines.append("  \(check.state.mark)  \(check.name(language))\(check.state.remark(language))")
        }
        lines += ["", Text(en: "Verdict: \(reason.en)", zh: "结论：\(reason.zh)")(language)]
        let facts = facts
        if !facts.isEmpty {
            let isTrusted = inspection.isOK
            lines += [
                "",
                Text(
                    en: isTrusted ? "It says:" : "It claims (not to be believed):",
                    zh: isTrusted ? "内容：" : "它自称（不可相信）：")(language),
            ]
            lines += facts
        }
        return lines
    }

    /// The verdict's code, its sentence and the detail.
    var reason: Text {
        let sentence = Self.sentence(of: inspection.verdict)
        let detail = inspection.detail.isEmpty ? "" : " [\(shown(inspection.detail))]"
        return Text(
            en: "\(inspection.verdict): \(sentence.en)\(detail)", zh: "\(inspection.verdict)：\(sentence.zh)\(detail)")
    }

    // MARK: Kind and verdict

    private var kind: Text {
        let code = inspection.kind.rawValue
        return switch inspection.kind {
        case .transaction: Text(en: "\(code), a signed transaction", zh: "\(code)，签名交易")
        case .renewal: Text(en: "\(code), a signed renewal info", zh: "\(code)，签名续订信息")
        case .appTransaction: Text(en: "\(code), a signed app transaction", zh: "\(code)，签名应用交易")
        case .notification: Text(en: "\(code), a notification of the App Store", zh: "\(code)，App Store 通知")
        case .receipt: Text(en: "\(code), an app receipt", zh: "\(code)，应用收据")
        case .oldStyleReceipt: Text(en: "\(code), an old-style transactionReceipt", zh: "\(code)，旧式交易收据")
        case .unknown: Text(en: "not recognised", zh: "无法识别")
        }
    }

    private static func sentence(of verdict: String) -> Text {
        guard let verdict = Verdict(rawValue: verdict) else {
            return verdict == "ok-unverified"
                ? Text(en: "decoded, and trusted by nobody", zh: "只解码，不受信任")
                : Text(en: "only read; its signature is not of Apple's format", zh: "只读出内容；签名不是 Apple 的格式")
        }
        return switch verdict {
        case .ok: Text(en: "genuine", zh: "真实有效")
        case .malformed: Text(en: "not of the format", zh: "格式不对")
        case .missingX5C: Text(en: "it brings no certificates", zh: "没有附带证书")
        case .chainLength: Text(en: "it does not bring exactly three certificates", zh: "附带的证书不是正好三张")
        case .badCertificate: Text(en: "one of its certificates can't be read", zh: "附带的证书有一张读不了")
        case .badRoot: Text(en: "a root certificate to be trusted can't be read", zh: "要信任的根证书读不了")
        case .chainUntrusted: Text(en: "its certificates lead to no trusted root", zh: "证书链通不到受信任的根证书")
        case .chainExpired: Text(en: "a certificate was not valid at its date", zh: "签名时有证书不在有效期内")
        case .missingOID: Text(en: "a certificate is not for App Store proofs", zh: "有证书不是用来签 App Store 凭证的")
        case .badSignature: Text(en: "the signature is not of this content", zh: "签名和内容不符")
        case .wrongApp: Text(en: "of another app", zh: "属于别的应用")
        case .wrongEnvironment: Text(en: "of another environment", zh: "属于别的环境")
        case .wrongDevice: Text(en: "of another device", zh: "属于别的设备")
        }
    }

    // MARK: Checks

    enum CheckState: Sendable, Hashable {
        case passed
        case failed
        /// An earlier check failed.
        case notReached
        /// Its flag was not given, or this kind of proof has no such thing.
        case skipped

        var mark: String {
            switch self {
            case .passed: "✓"
            case .failed: "✗"
            case .notReached, .skipped: "-"
            }
        }

        func remark(_ language: Language) -> String {
            switch self {
            case .passed, .failed: ""
            case .notReached: Text(en: " (not reached)", zh: "（未进行到）")(language)
            case .skipped: Text(en: " (not checked)", zh: "（不检查）")(language)
            }
        }
    }

    /// The checks in the order of the verdicts (CONTRACT §1).
    var checks: [(name: Text, state: CheckState)] {
        let rows: [(name: Text, fails: [Verdict], isAsked: Bool)] = [
            (Text(en: "format", zh: "格式"), [.malformed, .missingX5C, .chainLength], true),
            (Text(en: "certificates can be read", zh: "证书可读"), [.badCertificate, .badRoot], isTrustAsked),
            (chainCheck, [.chainUntrusted, .chainExpired], isTrustAsked),
            (
                Text(en: "certificates carry Apple's markers", zh: "证书带有 Apple 的标记"), [.missingOID],
                isTrustAsked && inspection.kind != .oldStyleReceipt
            ),
            (Text(en: "signature", zh: "签名"), [.badSignature], isTrustAsked),
            (Text(en: "app", zh: "应用"), [.wrongApp], isAppAsked),
            (environmentCheck, [.wrongEnvironment], policy.environment != nil),
            (Text(en: "device", zh: "设备"), [.wrongDevice], policy.device != nil && inspection.kind == .receipt),
        ]
        let verdict = Verdict(rawValue: inspection.verdict)
        let failing = rows.firstIndex { row in verdict.map { row.fails.contains($0) } ?? false } ?? rows.count
        return rows.enumerated().map { index, row in
            if index == failing { return (row.name, .failed) }
            if index > failing { return (row.name, .notReached) }
            return (row.name, row.isAsked ? .passed : .skipped)
        }
    }

    /// An old-style receipt's certificate is not held to its dates: Apple's own had gaps.
    private var chainCheck: Text {
        if inspection.kind == .oldStyleReceipt {
            return Text(en: "certificate is issued by the iTunes Store's key", zh: "证书由 iTunes Store 的密钥签发")
        }
        if policy.at != nil {
            return Text(
                en: "certificates lead to a trusted root and were valid at the time given", zh: "证书链通到受信任的根，在指定时间有效")
        }
        return Text(
            en: "certificates lead to a trusted root and were valid at the proof's date", zh: "证书链通到受信任的根，在凭证的日期有效")
    }

    /// The environment of an old-style receipt stands outside what Apple signed (SCENARIOS, T8).
    private var environmentCheck: Text {
        inspection.kind == .oldStyleReceipt
            ? Text(en: "environment (which nobody signed)", zh: "环境（没有签名保护）") : Text(en: "environment", zh: "环境")
    }

    /// Not for what is only decoded.
    private var isTrustAsked: Bool { Verdict(rawValue: inspection.verdict) != nil }

    private var isAppAsked: Bool {
        let statesNumber = inspection.kind == .notification || inspection.kind == .appTransaction
        return policy.bundleID != nil && inspection.kind != .renewal
            || policy.appAppleID != nil && policy.environment == Environment.production.rawValue && statesNumber
    }

    // MARK: What it says

    private var facts: [String] {
        var rows: [(String, JSONValue)] = []
        if let payload = inspection.fields["payload"] {
            flatten(payload, "", into: &rows)
            for name in ["signedTransactionInfo", "signedRenewalInfo", "signedAppTransactionInfo"] {
                if let nested = inspection.fields[name] { flatten(nested, name, into: &rows) }
            }
        } else {
            flatten(.object(inspection.fields), "", into: &rows)
        }
        let width = min(rows.map(\.0.count).max() ?? 0, 44)
        return rows.map { name, value in
            "  " + name + String(repeating: " ", count: max(0, width - name.count) + 2) + text(of: value, name)
        }
    }

    private func flatten(_ value: JSONValue, _ name: String, into rows: inout [(String, JSONValue)]) {
        switch value {
        case .object(let members):
            for (key, member) in members.sorted(by: { $0.key < $1.key }) {
                // The tokens themselves are shown decoded.
                if key.hasPrefix("signed"), member.string.map({ $0.utf8.count > 200 }) ?? false { continue }
                flatten(member, name.isEmpty ? shown(key) : name + "." + shown(key), into: &rows)
            }
        case .array(let elements):
            if elements.allSatisfy({ $0.object == nil && $0.array == nil }) { return rows.append((name, value)) }
            for (index, element) in elements.prefix(Self.mostPurchases).enumerated() {
                flatten(element, "\(name)[\(index)]", into: &rows)
            }
            if elements.count > Self.mostPurchases {
                rows.append((name, .string("… (\(elements.count))")))
            }
        default: rows.append((name, value))
        }
    }

    /// Instants are milliseconds under names that say so; people read dates. Beyond the calendar's years they stay
    /// numbers: an unverified proof may say anything.
    private func text(of value: JSONValue, _ name: String) -> String {
        switch value {
        case .int(let number) where name.hasSuffix("Date") || name.hasSuffix("_ms"):
            Self.years.contains(number / 1_000) ? Instant(milliseconds: number).rfc3339 : String(number)
        case .int(let number) where name.hasSuffix("leafNotBefore") || name.hasSuffix("leafNotAfter"):
            Self.years.contains(number) ? Instant(seconds: number).rfc3339 : String(number)
        case .string(let text): shown(text)
        default: shown(value.encoded())
        }
    }

    /// Seconds since 1970 of the years 1 to 9999.
    private static let years: Range<Int64> = -62_135_596_800..<253_402_300_800
}
