import Foundation
import TillCrypto

/// What the store said last, for those of Apple's calls that do not wait.
final class KnownNews: Sendable {
    private let kept = Locked<NewsWords?>(nil)

    /// Nil before the store was reached.
    var news: NewsWords? { kept.withLock { $0 } }

    func learn(_ news: NewsWords) { kept.withLock { $0 = news } }
}
