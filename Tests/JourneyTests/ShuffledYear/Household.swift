import TillBilling

/// Customers of the app who share one Apple Account and buy in turn: each purchase is another customer's, under an
/// order of their own. In an unnamed household, every second purchase loses its token.
struct Household {
    struct Buyer {
        let user: String
        var losesToken = false
    }

    private static let members = 3
    private let account: String
    private let isUnnamed: Bool
    private let givesPresents: Bool

    /// Nil for a customer with an Apple Account of their own.
    init?(_ customer: YearCustomer) {
        guard customer.story.hasPrefix("household") else { return nil }
        account = customer.name
        isUnnamed = customer.story.hasPrefix("household unnamed")
        givesPresents = customer.story.hasSuffix("presents")
    }

    /// - Parameter number: the number of the purchase, from 1.
    func buyer(_ number: Int) -> Buyer {
        // A present is the order of a customer with another Apple Account, paid with this one.
        if givesPresents, number.isMultiple(of: 2) { return Buyer(user: account + "-friend") }
        let member = (number - 1) % Self.members
        return Buyer(
            user: member == 0 ? account : "\(account)-\(member)", losesToken: isUnnamed && number.isMultiple(of: 2))
    }

    /// In addition to the stories of the store's own year.
    static let stories = YearStories.read(
        """
        household goes up and back   | 3 buy silver.month; 17 buy gold.month; 30 refundolder club; 60 cancel club; \
                                       120 buy bronze.week; 150 buy silver.month; 160 buy gold.month; \
                                       165 refund club full; 230 buy silver.month; 240 cancel club
        household can't pay          | 4 buy silver.month; 10 cancel club; 60 buy silver.month; 70 fail club; \
                                       100 recover club; 140 buy gold.month; 150 fail club; 200 cancel club; \
                                       210 buy bronze.week
        household unnamed            | 3 buy silver.month; 20 buy gold.month; 90 cancel club; 150 buy bronze.week; \
                                       160 cancel club; 200 buy silver.month; 210 buy gold.month; \
                                       214 refund club full
        household in a sale          | 5 buy silver.month; 40 promo silver.month half; 90 promo gold.month up; \
                                       200 cancel club
        household with presents      | 2 buy points60; 6 buy gold.month; 9 buy points60; 12 refundonce points60; \
                                       15 buy points300; 40 cancel club; 90 buy points300; 100 buy silver.month; \
                                       104 refundonce points300
        """)
}
