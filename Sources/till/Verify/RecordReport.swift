import TillAppStore
import TillBilling
import TillCrypto

/// The report of `till verify` on a proof's checks and its certificates, for people.
struct RecordReport: Sendable {
    let record: VerificationRecord

    func lines(_ language: Language) -> [String] {
        var lines = record.checks.flatMap { check in self.lines(check, language) }
        if let verifiedAt = record.verifiedAt {
            let time = Self.text(of: verifiedAt.instant, otherwise: verifiedAt.instant.milliseconds)
            let source = source(verifiedAt.source)
            lines += [
                "",
                LocalizedText(en: "Verification time: \(time), \(source.en)", zh: "验证时间：\(time)，\(source.zh)")(
                    language),
            ]
        }
        lines += record.certificates.flatMap { certificate in self.lines(certificate, language) }
        if !record.unsigned.isEmpty {
            lines += ["", LocalizedText(en: "Lines without a signature:", zh: "没有签名保护的各行：")(language)]
            lines += record.unsigned.sorted { $0.key < $1.key }.map { "  \(shown($0.key)) = \(shown($0.value))" }
        }
        for nested in record.nested {
            lines += ["", "\(nested.name): \(nested.record.verdict)"]
            lines += RecordReport(record: nested.record).lines(language).map { $0.isEmpty ? "" : "  " + $0 }
        }
        return lines
    }

    private func lines(_ check: VerificationRecord.Check, _ language: Language) -> [String] {
        let name = name(check.code)(language)
        switch check.outcome {
        case .passed: return ["  ✓  \(name)"]
        case .skipped(let reason): return ["  -  \(name)\(remark(reason)(language))"]
        case .failed:
            var lines = ["  ✗  \(name)"]
            func add(_ label: LocalizedText, _ text: String?) {
                if let text { lines.append("       \(label(language))\(shown(text))") }
            }
            add(LocalizedText(en: "expected: ", zh: "应为："), check.expected)
            add(LocalizedText(en: "found: ", zh: "实为："), check.found)
            add(LocalizedText(en: "reason: ", zh: "原因："), check.explanation)
            add(
                LocalizedText(en: "SHA-256 of the checked content: ", zh: "所查内容的 SHA-256："),
                check.inputSHA256.map { hexadecimal($0) })
            return lines
        }
    }

    /// An old-style receipt's certificate is verified with its issuer's key and not by its dates, because Apple's own
    /// had gaps.
    private func name(_ code: CheckCode) -> LocalizedText {
        code == .chain && record.kind == .oldStyleReceipt
            ? LocalizedText(en: "certificate is issued by the iTunes Store's key", zh: "证书由 iTunes Store 的密钥签发")
            : code.sentence
    }

    private func remark(_ reason: VerificationRecord.Reason) -> LocalizedText {
        switch reason {
        case .notAsked: LocalizedText(en: " (not checked)", zh: "（不检查）")
        case .notReached: LocalizedText(en: " (not reached)", zh: "（未进行到）")
        case .undecided: LocalizedText(en: " (not decided: the validity dates failed first)", zh: "（未定：有效期检查已失败）")
        case .unsigned: LocalizedText(en: " (not checked: not signed)", zh: "（不检查：没有签名保护）")
        }
    }

    private func source(_ source: VerificationRecord.VerificationDate.Source) -> LocalizedText {
        switch source {
        case .signedDate: LocalizedText(en: "the signing time in the proof", zh: "凭证中的签名时间")
        case .receiptCreationDate, .receiptAttribute:
            LocalizedText(en: "the creation time in the proof", zh: "凭证中的生成时间")
        case .purchaseDate: LocalizedText(en: "the purchase time in the proof", zh: "凭证中的购买时间")
        case .policy: LocalizedText(en: "from --at", zh: "由 --at 指定")
        case .now: LocalizedText(en: "now, because the proof has none", zh: "现在，因为凭证中没有写明")
        }
    }

    private func lines(_ certificate: CertificateRecord, _ language: Language) -> [String] {
        let from = Self.text(of: certificate.notBefore, otherwise: certificate.notBefore.seconds)
        let to = Self.text(of: certificate.notAfter, otherwise: certificate.notAfter.seconds)
        var lines = [
            "",
            LocalizedText(en: "Certificate: ", zh: "证书：")(language) + position(certificate.position)(language),
            LocalizedText(en: "  subject: ", zh: "  主体：")(language) + shown(certificate.subject),
            LocalizedText(en: "  issuer: ", zh: "  签发者：")(language) + shown(certificate.issuer),
            LocalizedText(en: "  serial: ", zh: "  序列号：")(language) + shown(certificate.serial),
            LocalizedText(en: "  valid: \(from) to \(to)", zh: "  有效期：\(from) 至 \(to)")(language),
            LocalizedText(en: "  key: ", zh: "  密钥：")(language) + certificate.key,
            "  SHA-256: " + hexadecimal(certificate.sha256),
        ]
        if !certificate.markers.isEmpty {
            lines.append(
                LocalizedText(en: "  Apple's markers: ", zh: "  Apple 的标记：")(language)
                    + certificate.markers.joined(separator: ", "))
        }
        return lines
    }

    private func position(_ position: CertificateRecord.Position) -> LocalizedText {
        switch position {
        case .leaf: LocalizedText(en: "signer", zh: "签名者")
        case .intermediate: LocalizedText(en: "intermediate", zh: "中间证书")
        case .root: LocalizedText(en: "trusted root", zh: "受信任的根")
        case .presented: LocalizedText(en: "came with the proof", zh: "凭证附带")
        }
    }

    // MARK: Sentences for other reports

    static func sentence(of verdict: String) -> LocalizedText {
        guard let verdict = Verdict(rawValue: verdict) else {
            return verdict == "ok-unverified"
                ? LocalizedText(en: "decoded, not trusted", zh: "只解码，不受信任")
                : LocalizedText(en: "only read; its signature is not of Apple's format", zh: "只读出内容；签名不是 Apple 的格式")
        }
        return switch verdict {
        case .ok: LocalizedText(en: "genuine", zh: "真实有效")
        case .malformed: LocalizedText(en: "not of the format", zh: "格式不对")
        case .missingX5C: LocalizedText(en: "it contains no certificates", zh: "没有附带证书")
        case .chainLength: LocalizedText(en: "it does not contain exactly three certificates", zh: "附带的证书不是正好三张")
        case .badCertificate: LocalizedText(en: "one of its certificates can't be read", zh: "有一张附带的证书无法读取")
        case .badRoot: LocalizedText(en: "a root certificate to be trusted can't be read", zh: "受信任的根证书无法读取")
        case .chainUntrusted: LocalizedText(en: "its certificates do not lead to a trusted root", zh: "证书链通不到受信任的根证书")
        case .chainExpired: LocalizedText(en: "a certificate was not valid at its date", zh: "签名时有证书不在有效期内")
        case .missingOID: LocalizedText(en: "a certificate is not for App Store proofs", zh: "有证书不是用来签 App Store 凭证的")
        case .badSignature: LocalizedText(en: "the signature is not of this content", zh: "签名和内容不符")
        case .wrongApp: LocalizedText(en: "of another app", zh: "属于别的应用")
        case .wrongEnvironment: LocalizedText(en: "of another environment", zh: "属于别的环境")
        case .wrongDevice: LocalizedText(en: "of another device", zh: "属于别的设备")
        }
    }

    /// The date if it is in the calendar's years 1 to 9999; otherwise the number.
    static func text(of instant: Instant, otherwise number: Int64) -> String {
        (-62_135_596_800..<253_402_300_800).contains(instant.seconds) ? instant.rfc3339 : String(number)
    }
}
