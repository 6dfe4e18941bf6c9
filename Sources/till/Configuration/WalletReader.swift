import TillAppStore
import TillBilling
import TillServer

/// `wallet.debt`, `consumption.sampleContentProvided` and `refundPreference`. What is left out is as in an empty file.
extension ConfigurationReader {
    mutating func readDebtPolicy() -> DebtPolicy {
        setting(.walletDebt).flatMap { reader.word($0, of: DebtPolicy.self) } ?? .owe
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
