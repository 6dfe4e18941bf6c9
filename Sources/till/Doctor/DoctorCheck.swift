import TillBilling

/// One line of `till doctor`: what was found, and what to do about it.
struct DoctorCheck: Sendable {
    /// Every check, in the order of the output. docs/operations.md has a row for each; a test compares them.
    enum Name: String, Sendable, CaseIterable {
        case configuration
        case fileModes = "file_modes"
        case certificates
        case keys
        case apiKey = "api_key"
        case clock
        case sharedSecret = "shared_secret"
        case receipts
        case offers
        case notifications
        case server
        case proxy
        case webhooks
        case disk
        case backup
        case databaseServer = "database_server"
        case schema
        case ledger
        case ledgerIdentity = "ledger_identity"
        case integrity
        case seals
        case pendingWork = "pending_work"
        case quarantine
        case sharedTokens = "shared_tokens"
        case refusedProofs = "refused_proofs"
    }

    enum Status: String, Sendable {
        case ok, warning, error
    }

    let name: Name
    let status: Status
    let detail: LocalizedText
    /// What to do; empty if the check passed.
    let action: LocalizedText

    static func ok(_ name: Name, en: String, zh: String) -> DoctorCheck {
        DoctorCheck(
            name: name, status: .ok, detail: LocalizedText(en: en, zh: zh), action: LocalizedText(""))
    }

    static func warning(_ name: Name, _ detail: LocalizedText, do action: LocalizedText) -> DoctorCheck {
        DoctorCheck(name: name, status: .warning, detail: detail, action: action)
    }

    static func error(_ name: Name, _ detail: LocalizedText, do action: LocalizedText) -> DoctorCheck {
        DoctorCheck(name: name, status: .error, detail: detail, action: action)
    }

    /// A check that could not be carried out.
    ///
    /// - Parameter reason: completes "not checked, because".
    static func notChecked(_ name: Name, because reason: LocalizedText, do action: LocalizedText) -> DoctorCheck {
        DoctorCheck(
            name: name, status: .warning,
            detail: LocalizedText(en: "not checked, because \(reason.en)", zh: "未检查，因为\(reason.zh)"), action: action)
    }

    /// In the order of the names; of one name, errors first.
    static func sorted(_ checks: [DoctorCheck]) -> [DoctorCheck] {
        Name.allCases.flatMap { name in
            [Status.error, .warning, .ok].flatMap { status in
                checks.filter { $0.name == name && $0.status == status }
            }
        }
    }

    // MARK: Output

    struct Document: Encodable {
        let checks: [Reply]
    }

    struct Reply: Encodable {
        let name: String
        let status: String
        let detail: String
        let action: String
    }

    func reply(in language: Language) -> Reply {
        Reply(name: name.rawValue, status: status.rawValue, detail: detail[language], action: action[language])
    }

    /// One or two lines for a person.
    func lines(in language: Language) -> [String] {
        let found = "\(padded(status.rawValue, to: 7))  \(padded(name.rawValue, to: 15))  \(detail[language])"
        return action[language].isEmpty ? [found] : [found, "         → \(action[language])"]
    }

    private func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.utf8.count))
    }
}

extension LocalizedText {
    /// Both languages changed alike.
    func joined(with other: LocalizedText, by separator: String = " ") -> LocalizedText {
        LocalizedText(en: en + separator + other.en, zh: zh + separator + other.zh)
    }
}

/// `41 s`, `12 min`, `5 h`, `3 d`.
func shortDuration(seconds: Int64) -> String {
    switch seconds {
    case ..<120: "\(seconds) s"
    case ..<7_200: "\(seconds / 60) min"
    case ..<172_800: "\(seconds / 3_600) h"
    default: "\(seconds / 86_400) d"
    }
}

/// `812 MB`, `4.2 GB`: powers of ten.
func shortSize(_ bytes: Int64) -> String {
    for (unit, size) in [("TB", Int64(1_000_000_000_000)), ("GB", 1_000_000_000), ("MB", 1_000_000)]
    where bytes >= size {
        return "\(bytes / size).\(bytes % size * 10 / size) \(unit)"
    }
    return "\(bytes / 1_000) kB"
}
