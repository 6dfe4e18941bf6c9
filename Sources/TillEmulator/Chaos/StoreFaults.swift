import TillBilling
import TillSQL

extension Store {
    /// What goes wrong on purpose from now on; nil: nothing. Counting begins again, and a restart begins with these.
    public func setFaults(_ settings: FaultSettings?) async throws {
        let text = try settings.map { try StoredDocument.text($0) }
        try await change { turn in try SettingTable.set(.faults, to: text, turn.session) }
        chaos.begin(settings)
    }

    /// What goes wrong on purpose, if anything does.
    public var faults: FaultSettings? { chaos.report.settings }
}

extension FaultSettings {
    /// What was set before the store was opened this time, if anything was.
    static func reopened(_ session: any Connection) throws -> FaultSettings? {
        guard let text = try SettingTable.value(.faults, session) else { return nil }
        var settings = try StoredDocument.read(FaultSettings.self, from: text)
        settings.start &+= 1
        try SettingTable.set(.faults, to: try StoredDocument.text(settings), session)
        return settings
    }
}
