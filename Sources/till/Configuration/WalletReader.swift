import TillAppStore
import TillBilling
import TillLedger
import TillServer

/// `wallet.debt` and `forgivenPerYear`, `consumption.sampleContentProvided` and `refundPreference`. What is left out is
/// as in an empty file.
extension ConfigurationReader {
    mutating func readDebtPolicy() -> DebtPolicy {
        setting(.walletDebt).flatMap { reader.word($0, of: DebtPolicy.self) } ?? .owe
    }

    private static let mostForgivenPerYear = 1_000

    mutating func readForgivenPerYear() -> Int? {
        guard let setting = setting(.forgivenPerYear), let times = reader.positiveInteger(setting) else { return nil }
        guard times <= Self.mostForgivenPerYear else {
            reader.complain(
                setting.place,
                Text(
                    en: "must be at most \(Self.mostForgivenPerYear), is \(times)",
                    zh: "最多 \(Self.mostForgivenPerYear)，现在是 \(times)"))
            return nil
        }
        return Int(times)
    }

    mutating func readConsumption() -> ConsumptionSettings {
        var settings = ConsumptionSettings()
        if let setting = setting(.sampleContentProvided) { settings.hadSample = reader.truth(setting) ?? false }
        if let setting = setting(.refundPreference) {
            settings.preference = reader.word(setting, of: WrittenPreference.self)?.preference
        }
        return settings
    }

    /// As it is written in the configuration.
    private enum WrittenPreference: String, CaseIterable {
        case none, decline
        case grantFull = "grant_full"
        case grantProrated = "grant_prorated"

        var preference: ConsumptionInformation.RefundPreference? {
            switch self {
            case .none: nil
            case .decline: .decline
            case .grantFull: .grantFull
            case .grantProrated: .grantProrated
            }
        }
    }
}
