// A purchase made after a preview counts at the previewed moment, so that its result equals the preview, independent of
// the time that the customer and Apple took.

extension PlanPurchase {
    /// How long a preview is valid, in seconds: as long as a request to buy may wait for a parent's approval
    /// (facts/limits §4).
    public static let previewLife: Int64 = 86_400

    /// The purchases in the order in which they count, each at the moment at which it counts; the order of the input
    /// does not matter.
    ///
    /// That moment is Apple's purchase date. It is the previewed moment, with the price of the preview, if the two
    /// differ by at most `previewLife` and no other purchase lies between them: the preview did not include such a
    /// purchase. The previewed moment may be the later one, because two clocks differ, and because receipts have whole
    /// seconds only.
    public static func counted(_ purchases: [PlanPurchase]) -> [PlanPurchase] {
        ordered(purchases).map(\.counted)
    }

    /// - Returns: also the new position of the purchase that was at `index`.
    static func counted(_ purchases: [PlanPurchase], marking index: Int) -> ([PlanPurchase], place: Int) {
        let ordered = ordered(purchases)
        return (ordered.map(\.counted), ordered.firstIndex { $0.index == index } ?? 0)
    }

    private static func ordered(_ purchases: [PlanPurchase]) -> [OrderedPurchase] {
        let dates = purchases.map(\.at).sorted()
        return purchases.enumerated().map { index, purchase in
            OrderedPurchase(counted: purchase.counted(among: dates), date: purchase.at, index: index)
        }.sorted { $0.key < $1.key }
    }

    private struct OrderedPurchase {
        let counted: PlanPurchase
        let date: Instant
        let index: Int

        /// At the same moment, the higher transaction id comes later; a purchase without an id is still to be made.
        var key: (Instant, Instant, String, Int) {
            (counted.at, date, counted.transactionID?.text ?? "\u{10FFFF}", index)
        }
    }

    /// - Parameter dates: of all purchases including this one, sorted.
    private func counted(among dates: [Instant]) -> PlanPurchase {
        guard let preview else { return self }
        let shown = plan.priced(at: preview.price)
        let (first, last) = (min(at, preview.at), max(at, preview.at))
        // The first date after the earlier moment; if it is before the later one, it lies between them.
        let next = dates.partitioned { $0 <= first }
        // A free trial and a paid plan are never exchanged, whatever the preview said.
        let isHonoured =
            last <= first.adding(seconds: Self.previewLife) && (next == dates.endIndex || dates[next] >= last)
            && shown.isFree == plan.isFree
        return PlanPurchase(
            plan: isHonoured ? shown : plan, quantity: quantity, worth: worth, at: isHonoured ? preview.at : at,
            deviceID: deviceID, transactionID: transactionID)
    }
}

extension [Instant] {
    /// The first index whose element does not satisfy the predicate, in a list that has all satisfying elements first.
    fileprivate func partitioned(by isBefore: (Instant) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
