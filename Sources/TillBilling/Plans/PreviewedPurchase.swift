// A purchase that was made on a preview counts at the previewed moment, so that it does exactly what the preview said,
// however long the buyer took to decide and Apple to charge (C6).

extension PlanPurchase {
    /// How long a preview is honoured: as long as a request to buy may wait for a parent (facts/limits §4).
    public static let previewLife: Int64 = 86_400

    /// The purchases in the order they count in, each at the moment it counts at; the same for any order they came in.
    ///
    /// That moment is Apple's purchase date; or the previewed one, at the price of the preview, if the two are at most
    /// `previewLife` apart and no other purchase lies between them. If one does, the preview did not know of it. The
    /// previewed moment may be the later one by as much as two clocks disagree, and receipts tell whole seconds only.
    public static func counted(_ purchases: [PlanPurchase]) -> [PlanPurchase] {
        ordered(purchases).map(\.counted)
    }

    /// - Returns: where the purchase that was at `index` stands now, too.
    static func counted(_ purchases: [PlanPurchase], marking index: Int) -> ([PlanPurchase], place: Int) {
        let ordered = ordered(purchases)
        return (ordered.map(\.counted), ordered.firstIndex { $0.index == index } ?? 0)
    }

    private static func ordered(_ purchases: [PlanPurchase]) -> [Place] {
        let dates = purchases.map(\.at).sorted()
        return purchases.enumerated().map { index, purchase in
            Place(counted: purchase.counted(among: dates), date: purchase.at, index: index)
        }.sorted { $0.key < $1.key }
    }

    private struct Place {
        let counted: PlanPurchase
        let date: Instant
        let index: Int

        /// Of two at one moment, the one that Apple has later comes later; one without an id is yet to be made.
        var key: (Instant, Instant, String, Int) {
            (counted.at, date, counted.transactionID?.text ?? "\u{10FFFF}", index)
        }
    }

    /// - Parameter dates: of all purchases, this one among them, sorted.
    private func counted(among dates: [Instant]) -> PlanPurchase {
        guard let preview else { return self }
        let shown = plan.priced(at: preview.price)
        let (first, last) = (min(at, preview.at), max(at, preview.at))
        // The first date after the earlier moment: if that is before the later one, it lies between.
        let next = dates.partitioned { $0 <= first }
        // A trial is another thing than a plan that was paid for, whatever its buyer was shown.
        let isHonoured =
            last <= first.adding(seconds: Self.previewLife) && (next == dates.endIndex || dates[next] >= last)
            && shown.isFree == plan.isFree
        return PlanPurchase(
            plan: isHonoured ? shown : plan, quantity: quantity, worth: worth, at: isHonoured ? preview.at : at,
            deviceID: deviceID, transactionID: transactionID)
    }
}

extension [Instant] {
    /// Where those begin that are not such, in a list that has all that are such first.
    fileprivate func partitioned(by isBefore: (Instant) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
