import Foundation

/// Where the account that is signed in is at home (iOS 13).
open class SKStorefront: NSObject, @unchecked Sendable {
    // Written once, in an initialiser.
    private let words: StorefrontWords

    init(_ words: StorefrontWords) { self.words = words }

    public override init() { words = StorefrontWords(countryCode: "", id: "", currency: nil) }

    /// ISO 3166-1 alpha-3.
    open var countryCode: String { words.countryCode }
    open var identifier: String { words.id }
}
