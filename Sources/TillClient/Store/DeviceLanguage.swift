import Foundation
import TillBilling

extension Language {
    /// The language of the device's user: the first of the system's preferred languages that Till supports.
    package static var ofDevice: Language {
        #if os(Linux)
            // On Linux, Foundation always returns en-001.
            let environment = ProcessInfo.processInfo.environment
            let chosen = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
            return Language(preference: chosen ?? "")
        #else
            return Language(preference: Locale.preferredLanguages.joined(separator: ","))
        #endif
    }
}
