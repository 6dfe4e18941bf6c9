import TillBilling

/// How a product gets from the developer's desk to the customers (SCENARIOS L1, facts/business-rules §3).
enum ProductReview {
    /// What a developer, or App Review, does.
    enum Step: String, CaseIterable {
        case submit
        case startReview
        case approve
        case reject
        case requestChanges
        case removeFromSale
        case returnToSale
    }

    /// The state after a step; nil if the step is not one that leads on from here.
    ///
    /// - Parameter byApple: Apple took it off the store, and the developer can't bring it back.
    static func state(
        after step: Step, of state: ProductState, withAppVersion: Bool, byApple: Bool = false
    ) -> ProductState? {
        switch (step, state) {
        case (.submit, .readyToSubmit), (.submit, .rejected), (.submit, .developerActionNeeded): .waitingForReview
        case (.startReview, .waitingForReview): .inReview
        case (.approve, .inReview): withAppVersion ? .pendingBinaryApproval : .approved
        case (.approve, .pendingBinaryApproval): .approved
        case (.reject, .inReview): .rejected
        case (.requestChanges, .inReview): .developerActionNeeded
        case (.removeFromSale, .approved): byApple ? .removedFromSale : .developerRemovedFromSale
        case (.returnToSale, .developerRemovedFromSale): .approved
        default: nil
        }
    }

    /// The steps that lead on from a state.
    static func steps(from state: ProductState) -> [Step] {
        Step.allCases.filter { self.state(after: $0, of: state, withAppVersion: false) != nil }
    }

    /// What App Review needs to see before it looks at anything (facts/business-rules §2).
    static func missing(_ product: StoreProduct) -> [String] {
        (product.hasReviewScreenshot ? [] : ["reviewScreenshot"])
            + (product.localizations.isEmpty ? ["localizations"] : []) + (product.prices.isEmpty ? ["prices"] : [])
    }

    /// The state of a product as it was saved: what is there decides between Missing Metadata and Ready to Submit.
    static func settled(_ product: StoreProduct) -> ProductState {
        switch product.state {
        case .missingMetadata, .readyToSubmit: missing(product).isEmpty ? .readyToSubmit : .missingMetadata
        default: product.state
        }
    }

    /// Whether App Review has let a product through: then the app's next ones need no app version with them.
    static func hasBeenApproved(_ state: ProductState) -> Bool {
        state == .approved || state == .developerRemovedFromSale || state == .removedFromSale
    }

    /// What a developer may still edit (facts/business-rules §3).
    enum Editable: Sendable {
        case everything
        /// Reference name, price, availability.
        case nameAndPrices
    }

    static func editable(in state: ProductState) -> Editable {
        state == .inReview || state == .pendingBinaryApproval ? .nameAndPrices : .everything
    }

    /// Whether two products differ in more than the reference name and the prices.
    static func differInMore(_ one: StoreProduct, _ other: StoreProduct) -> Bool {
        var one = one
        one.name = other.name
        one.prices = other.prices
        one.state = other.state
        one.isWithAppVersion = other.isWithAppVersion
        one.appleID = other.appleID
        return one != other
    }
}

// MARK: What the store does with it

extension ProductReview {
    static func take(
        _ step: Step, _ id: String, withAppVersion: Bool, byApple: Bool, _ turn: Turn
    ) throws -> Result<StoreProduct, StoreRefusal> {
        guard var product = try ProductTable.find(ProductID(id), turn.session) else {
            return .failure(try ProductTable.unknown(id, turn.session))
        }
        if step == .submit {
            product.state = settled(product)
            let missing = missing(product)
            guard missing.isEmpty else { return .failure(.missingMetadata(id, missing)) }
            let isFirst = try !ProductTable.states(turn.session).contains(where: hasBeenApproved)
            guard withAppVersion || !isFirst else { return .failure(.needsAppVersion(id)) }
            product.isWithAppVersion = withAppVersion
        }
        let next = state(
            after: step, of: product.state, withAppVersion: product.isWithAppVersion, byApple: byApple)
        guard let next else { return .failure(.illegalStep(id, step, product.state)) }
        product.state = next
        // The app version is out, and later submissions stand for themselves.
        if next == .approved { product.isWithAppVersion = false }
        try ProductTable.update(product, turn.session)
        return .success(product)
    }

    /// The developer saves one product again: its id and its kind stay, its state is the store's business.
    static func edit(_ product: StoreProduct, _ turn: Turn) throws -> Result<StoreProduct, StoreRefusal> {
        guard let saved = try ProductTable.find(product.id, turn.session) else {
            return .failure(try ProductTable.unknown(product.id.text, turn.session))
        }
        guard saved.kind == product.kind else { return .failure(.kindIsFixed(product.id.text, saved.kind)) }
        if editable(in: saved.state) == .nameAndPrices, differInMore(saved, product) {
            return .failure(.notEditable(product.id.text, saved.state))
        }
        var product = product
        product.state = saved.state
        product.isWithAppVersion = saved.isWithAppVersion
        product.appleID = saved.appleID
        product.state = settled(product)
        try ProductTable.update(product, turn.session)
        return .success(product)
    }
}
