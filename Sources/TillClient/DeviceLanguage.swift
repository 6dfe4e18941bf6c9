import Foundation
import TillBilling

extension Language {
    /// What the person who holds the device reads: the first of the system's preferred languages that Till speaks.
    public static var ofDevice: Language {
        #if os(Linux)
            // There Foundation answers en-001, whatever the user chose.
            let environment = ProcessInfo.processInfo.environment
            let chosen = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
            return Language(preference: chosen ?? "")
        #else
            return Language(preference: Locale.preferredLanguages.joined(separator: ","))
        #endif
    }
}
