import TillJSON

extension VerificationRecord {
    /// The record for programs: keys in camelCase, codes as strings, hashes in lower-case hexadecimal, times in RFC
    /// 3339 with milliseconds. Absent things have no key.
    public var json: JSONValue {
        var members: [String: JSONValue] = [
            "kind": .string(kind.rawValue), "size": .int(Int64(size)), "sha256": .string(hexadecimal(sha256)),
            "verdict": .string(verdict), "checks": .array(checks.map(\.json)),
            "certificates": .array(certificates.map(\.json)),
        ]
        if !detail.isEmpty { members["detail"] = .string(detail) }
        if let failed { members["failed"] = .string(failed.code.rawValue) }
        if let judgedAt {
            members["judgedAt"] = [
                "time": .string(judgedAt.instant.rfc3339), "unixSeconds": .int(judgedAt.instant.seconds),
                "source": .string(judgedAt.source.rawValue),
            ]
        }
        if !nested.isEmpty {
            members["nested"] = .object(
                Dictionary(nested.map { ($0.name, $0.record.json) }, uniquingKeysWith: { first, _ in first }))
        }
        if !unsigned.isEmpty { members["unsigned"] = .object(unsigned.mapValues(JSONValue.string)) }
        return .object(members)
    }
}

extension VerificationRecord.Check {
    fileprivate var json: JSONValue {
        var members: [String: JSONValue] = ["code": .string(code.rawValue)]
        switch outcome {
        case .passed: members["outcome"] = "passed"
        case .failed(let verdict):
            members["outcome"] = "failed"
            members["verdict"] = .string(verdict.rawValue)
        case .skipped(let reason):
            members["outcome"] = "skipped"
            members["reason"] = .string(reason.rawValue)
        }
        members["inputSha256"] = inputSHA256.map { .string(hexadecimal($0)) }
        members["expected"] = expected.map(JSONValue.string)
        members["found"] = found.map(JSONValue.string)
        members["words"] = words.map(JSONValue.string)
        return .object(members)
    }
}

extension CertificateRecord {
    fileprivate var json: JSONValue {
        [
            "position": .string(position.rawValue), "subject": .string(subject), "issuer": .string(issuer),
            "serial": .string(serial), "sha256": .string(hexadecimal(sha256)),
            "notBefore": .string(notBefore.rfc3339), "notAfter": .string(notAfter.rfc3339), "key": .string(key),
            "markers": .array(markers.map(JSONValue.string)),
        ]
    }
}
