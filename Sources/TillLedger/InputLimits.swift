import TillBilling
import TillSQL

/// Limits for strings from outside.
package enum InputLimits {
    package static func user(_ text: String) throws -> UserID {
        UserID(try string(text, "userId", UserID.maximumLength))
    }

    package static func device(_ text: String) throws -> DeviceID { DeviceID(try string(text, "deviceId", 128)) }

    /// Text that a person writes for people: 1 to `maximum` UTF-8 bytes without control characters. Marks for the text
    /// direction are allowed.
    package static func prose(_ text: String, _ field: String, _ maximum: Int) throws -> String {
        guard !text.isEmpty, text.utf8.count <= maximum else {
            throw RefusalError(.invalidField, "\(field): 1 to \(maximum) bytes", zh: "\(field)：应为 1 到 \(maximum) 字节")
        }
        guard text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            throw RefusalError(.invalidField, "\(field): no control characters", zh: "\(field)：不能含有控制字符")
        }
        return text
    }

    /// An identifier of 1 to `maximum` UTF-8 bytes without control characters, line separators and marks that change
    /// the text direction.
    package static func string(_ text: String, _ field: String, _ maximum: Int) throws -> String {
        guard !text.isEmpty, text.utf8.count <= maximum else {
            throw RefusalError(.invalidField, "\(field): 1 to \(maximum) bytes", zh: "\(field)：应为 1 到 \(maximum) 字节")
        }
        if let scalar = text.firstForbiddenScalar {
            throw RefusalError(
                .invalidField,
                "\(field): holds \(scalar.codePoint). Control characters, line separators and marks that change the "
                    + "direction of text are not allowed",
                zh: "\(field)：含有 \(scalar.codePoint)。不允许控制字符、行分隔符和改变文字方向的标记")
        }
        return text
    }

    /// `production` or `sandbox`; on a server for Xcode's local tests only `xcode`, so that no ledger holds both.
    package static func environment(_ text: String, on settings: LedgerSettings) throws -> StoreEnvironment {
        switch (text, settings.apple.acceptsXcode) {
        case ("xcode", true): return .xcode
        case (_, true):
            throw RefusalError(
                .invalidField, "environment: only xcode on this server, not \(text.prefix(40))",
                zh: "environment：此服务器只有 xcode，不能是 \(text.prefix(40))")
        case ("production", _): return .production
        case ("sandbox", _): return .sandbox
        default:
            throw RefusalError(
                .invalidField, "environment: production or sandbox, not \(text.prefix(40))",
                zh: "environment：应为 production 或 sandbox，不能是 \(text.prefix(40))")
        }
    }

    /// One of Apple's fiscal years.
    package static func fiscalYear(_ text: String) throws -> Int {
        guard let year = Int(text), FinanceSpan.years.contains(year) else { throw wrongFiscalYear }
        return year
    }

    package static let wrongFiscalYear = RefusalError(
        .invalidField, "fiscalYear: \(FinanceSpan.years.lowerBound) to \(FinanceSpan.years.upperBound)",
        zh: "fiscalYear：应为 \(FinanceSpan.years.lowerBound) 到 \(FinanceSpan.years.upperBound)")

    package static func fiscalPeriod(_ text: String, of year: Int) throws -> FiscalPeriod {
        guard let number = Int(text), (1...12).contains(number) else {
            throw RefusalError(.invalidField, "period: 1 to 12, where 1 is October", zh: "period：应为 1 到 12，其中 1 为十月")
        }
        return FiscalCalendar.periods(ofYear: year)[number - 1]
    }
}

extension Ledger {
    /// Refuses a new user id that is not in normalization form C, because another id would look the same. A customer
    /// who already has such an id keeps it. Called wherever a user's first row would be written.
    package func requireKnownForm(of user: UserID, _ field: String) async throws {
        guard !user.text.isNormalized else { return }
        guard try await database.read({ try CustomerTable($0).isKnown(user) }) else {
            throw RefusalError(
                .invalidField,
                "\(field): no user of this id is known, and a new id has to be in Unicode normalization form C (NFC). "
                    + "Normalize the id before it is sent",
                zh: "\(field)：没有此标识的用户，而新标识必须是 Unicode 规范化形式 C（NFC）。请在发送前规范化")
        }
    }
}
