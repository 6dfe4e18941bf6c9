#if PLANTED_MISTAKES
    /// Mistakes that the simulation plants in the code, one at a time, to verify that its checks find them. Each is
    /// checked next to the rule that it breaks. The invariants are numbered as in docs/invariants.md.
    ///
    /// They exist only in a build made for this purpose (`scripts/plant-mistakes`); the shipped build contains the
    /// rules alone.
    package enum PlantedMistake: String, Sendable, Hashable, CaseIterable {
        /// Invariant 1: a purchase paid more than a day ago counts as failed.
        case refusesLate = "refuses_late"
        /// Invariant 1: a granted transaction is granted again when Apple repeats it.
        case grantsAgain = "grants_again"
        /// Invariant 1: the caller who submits a proof receives its purchase.
        case trustsCaller = "trusts_caller"
        /// Invariant 1: the signer of a proof is not checked.
        case acceptsAnySignature = "accepts_any_signature"
        /// Invariant 2: the event is written after the commit.
        case recordsEventApart = "records_event_apart"
        /// Invariant 3: the phone finishes a transaction without regard to the server's answer.
        case finishesAnyway = "finishes_anyway"
        /// Invariant 4: a refund does not take the points back.
        case keepsRefundedPoints = "keeps_refunded_points"
        /// Invariant 5: a paid order can still be cancelled.
        case closesPaidOrders = "closes_paid_orders"
        /// Invariant 6: an unclaimed purchase is recorded without its proof.
        case dropsProofs = "drops_proofs"
        /// Invariant 7: the proof determines which environment counts.
        case trustsStatedEnvironment = "trusts_stated_environment"
        /// Invariant 8: the copy that arrived last counts, instead of the one that was signed last.
        case keepsLastCopy = "keeps_last_copy"
        /// Identity: user ids that are canonically equivalent in Unicode belong to one user.
        case comparesCanonically = "compares_canonically"
        /// Identity: a caller with any token of a user may merge that user into another account.
        case mergesAccounts = "merges_accounts"
        /// Durability: commits are acknowledged before they are on disk.
        case answersBeforeSync = "answers_before_sync"
        /// Invariant 1: an app may open an order with any id.
        case acceptsUnprovenIDs = "accepts_unproven_ids"
        /// Invariant 1: an order opened by a backend accepts payments that carried its id earlier.
        case trustsLateOrderIDs = "trusts_late_order_ids"
        /// Invariant 1: the nil and the max UUID count as ordinary tokens.
        case matchesAbsentTokens = "matches_absent_tokens"
        /// Invariant 1: an order's id may equal another customer's account token.
        case opensOrdersUnderAccountTokens = "opens_orders_under_account_tokens"
        /// Liveness: a saved proof is not processed again after a failure.
        case forgetsSavedProofs = "forgets_saved_proofs"
        /// Invariant 1: a seat that another party pays for counts as the purchaser's own second purchase.
        case grantsUnknownOwnership = "grants_unknown_ownership"
        /// Invariant 1: any customer who opens an order with a device's id counts as a buyer on that device.
        case trustsAnyDevice = "trusts_any_device"
        /// Invariant 1: a signed copy that names another customer does not move a purchase granted by a receipt.
        case keepsReceiptOwner = "keeps_receipt_owner"
        /// Invariant 1: points granted by a receipt alone may be spent.
        case spendsHeldPoints = "spends_held_points"
        /// Delivery: the feed is read in the order of row ids, though rows with lesser ids may be committed later.
        case followsRowIDs = "follows_row_ids"
        /// Seals: an id without a row is skipped at once, and its row is not sealed when it is committed later.
        case skipsLateRows = "skips_late_rows"

        /// The mistake that is planted for this task.
        @TaskLocal package static var current: PlantedMistake?

        /// Whether this mistake is planted.
        package var isPlanted: Bool { Self.current == self }
    }
#endif
