#if PLANTED_MISTAKES
    /// Mistakes that the whole-system simulation puts into our own code, one at a time, to see that it finds them: a
    /// checker that has never found anything proves nothing. Each is read beside the rule that it breaks.
    ///
    /// Only a build of the simulation's own has them (`scripts/plant-mistakes`): what ships contains the rules alone.
    package enum PlantedMistake: String, Sendable, Hashable, CaseIterable {
        /// Invariant 1: what was paid more than a day ago counts as failed (T9).
        case refusesLate = "refuses_late"
        /// Invariant 1: what was granted is granted again when Apple repeats it.
        case grantsAgain = "grants_again"
        /// Invariant 1: whoever brings a proof gets what it paid for (P8).
        case believesCaller = "believes_caller"
        /// Invariant 1: nobody looks at who signed.
        case believesAnySignature = "believes_any_signature"
        /// Invariant 2: the event is written after the commit.
        case tellsApart = "tells_apart"
        /// Invariant 3: the phone finishes whatever the server says, or does not say (T1).
        case finishesAnyway = "finishes_anyway"
        /// Invariant 4: a refund leaves the points where they are.
        case keepsRefundedPoints = "keeps_refunded_points"
        /// Invariant 5: what was paid may still be cancelled.
        case closesPaidOrders = "closes_paid_orders"
        /// Invariant 6: what is nobody's is noted without its proof.
        case dropsProofs = "drops_proofs"
        /// Invariant 7: the proof says which environment counts.
        case believesStatedEnvironment = "believes_stated_environment"
        /// Invariant 8: the copy that came last counts, not the one that was signed last (U4).
        case believesLastCopy = "believes_last_copy"
        /// Identity: user ids that Unicode calls equivalent are one user's.
        case comparesCanonically = "compares_canonically"
        /// Identity: a caller with any token of a user may make that user part of another account.
        case mergesAccounts = "merges_accounts"
        /// Durability: commits are answered before they are on the disk.
        case answersBeforeSync = "answers_before_sync"
        /// Invariant 1: an app may open an order under any id.
        case acceptsUnprovenIDs = "accepts_unproven_ids"
        /// Invariant 1: an order that a backend opened takes payments that carried its id before.
        case trustsLateOrderIDs = "trusts_late_order_ids"
        /// Invariant 1: the nil and the max UUID are tokens like any other.
        case matchesAbsentTokens = "matches_absent_tokens"
        /// Invariant 1: an order may have another customer's account token as its id.
        case opensOrdersUnderAccountTokens = "opens_orders_under_account_tokens"
        /// Liveness: what was saved to be granted is not taken up again after a failure.
        case forgetsSavedProofs = "forgets_saved_proofs"
        /// Invariant 1: a seat that somebody else pays for is the purchaser's own second sale (V6).
        case grantsUnknownOwnership = "grants_unknown_ownership"
        /// Invariant 1: whoever opens an order under a device's id is a buyer of that device.
        case trustsAnyDevice = "trusts_any_device"
        /// Invariant 1: a signed copy that names another customer does not move what a receipt granted.
        case keepsReceiptOwner = "keeps_receipt_owner"
        /// Invariant 1: points that rest on a receipt alone may be spent.
        case spendsHeldPoints = "spends_held_points"
        /// Delivery: the feed is read in the order of row ids, though rows with lesser ids may be committed later.
        case followsRowIDs = "follows_row_ids"

        /// The one that is planted for this task.
        @TaskLocal package static var current: PlantedMistake?

        /// Whether this one is.
        package var isPlanted: Bool { Self.current == self }
    }
#endif
