import TillAppStore
import TillBilling
import TillCrypto
import TillJSON

/// The report of `till verify` for people: the proof's kind, each check, the verdict and the content.
struct InspectionReport: Sendable {
    let inspection: ProofInspection

    /// The most purchases of a receipt that are listed; heavy buyers' receipts have thousands.
    private static let maximumPurchases = 20

    func lines(_ language: Language) -> [String] {
        let record = inspection.record
        var lines = [
            LocalizedText(en: "Kind: \(kind.en)", zh: "种类：\(kind.zh)")(language),
            LocalizedText(en: "Input: \(record.size) bytes, SHA-256 ", zh: "输入：\(record.size) 字节，SHA-256 ")(language)
                + hexadecimal(record.sha256),
            "",
        ]
        lines += RecordReport(record: record).lines(language)
        lines += ["", LocalizedText(en: "Verdict: \(reason.en)", zh: "结论：\(reason.zh)")(language)]
        let facts = facts
        if !facts.isEmpty {
            let isTrusted = inspection.isOK
            lines += [
                "",
                LocalizedText(
                    en: isTrusted ? "Content:" : "Unverified content (do not trust):",
                    zh: isTrusted ? "内容：" : "未经验证的内容（不可信）：")(language),
            ]
            lines += facts
        }
        return lines
    }

    /// The verdict's code, its sentence and the detail.
    var reason: LocalizedText {
        let sentence = RecordReport.sentence(of: inspection.verdict)
        let detail = inspection.detail.isEmpty ? "" : " [\(shown(inspection.detail))]"
        return LocalizedText(
            en: "\(inspection.verdict): \(sentence.en)\(detail)", zh: "\(inspection.verdict)：\(sentence.zh)\(detail)")
    }

    private var kind: LocalizedText {
        let code = inspection.kind.rawValue
        return switch inspection.kind {
        case .transaction: LocalizedText(en: "\(code), a signed transaction", zh: "\(code)，签名交易")
        case .renewal: LocalizedText(en: "\(code), a signed renewal info", zh: "\(code)，签名续订信息")
        case .appTransaction: LocalizedText(en: "\(code), a signed app transaction", zh: "\(code)，签名应用交易")
        case .notification: LocalizedText(en: "\(code), a notification of the App Store", zh: "\(code)，App Store 通知")
        case .receipt: LocalizedText(en: "\(code), an app receipt", zh: "\(code)，应用收据")
        case .oldStyleReceipt: LocalizedText(en: "\(code), an old-style transactionReceipt", zh: "\(code)，旧式交易收据")
        case .certificateChain: LocalizedText(en: "\(code), a list of certificates", zh: "\(code)，证书列表")
        }
    }

    // MARK: Content

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
            for (index, element) in elements.prefix(Self.maximumPurchases).enumerated() {
                flatten(element, "\(name)[\(index)]", into: &rows)
            }
            if elements.count > Self.maximumPurchases {
                rows.append((name, .string("… (\(elements.count))")))
            }
        default: rows.append((name, value))
        }
    }

    /// Members with these names are milliseconds and are shown as dates. Values beyond the calendar stay numbers: an
    /// unverified proof may contain anything.
    private func text(of value: JSONValue, _ name: String) -> String {
        switch value {
        case .int(let number) where name.hasSuffix("Date") || name.hasSuffix("_ms"):
            RecordReport.text(of: Instant(milliseconds: number), otherwise: number)
        case .int(let number) where name.hasSuffix("leafNotBefore") || name.hasSuffix("leafNotAfter"):
            RecordReport.text(of: Instant(seconds: number), otherwise: number)
        case .string(let text): shown(text)
        default: shown(value.encoded())
        }
    }
}
