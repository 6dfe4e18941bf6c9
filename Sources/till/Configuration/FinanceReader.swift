import TillAppStore
import TillBilling

extension ConfigurationReader {
    /// `finance.smallBusiness`: true or false, the first day in the program, or the first and the last.
    mutating func readDeveloperTerms() -> DeveloperTerms {
        guard let setting = setting(.smallBusiness) else { return DeveloperTerms() }
        let text: String
        switch setting.value {
        case .bool(let flag): return DeveloperTerms(isSmallBusiness: flag)
        case .string(let written): text = written
        default: return refuse(setting)
        }
        if let flag = Bool(text) { return DeveloperTerms(isSmallBusiness: flag) }
        let days = text.split(separator: "/", omittingEmptySubsequences: false).map { CivilDate(iso8601: $0) }
        switch (days.count, days.first ?? nil, days.last ?? nil) {
        case (1, let since?, _): return DeveloperTerms(isSmallBusiness: true, since: since)
        case (2, let since?, let until?) where since <= until:
            return DeveloperTerms(isSmallBusiness: true, since: since, until: until)
        default: return refuse(setting)
        }
    }

    private mutating func refuse(_ setting: Setting) -> DeveloperTerms {
        reader.complain(
            setting.place,
            Text(
                en: "wants true, false, a day like 2021-01-01, or two like 2021-01-01/2023-04-30",
                zh: "要 true、false、一个日期（如 2021-01-01）或起止日期（如 2021-01-01/2023-04-30）"))
        return DeveloperTerms()
    }
}
