/// An answer that says no. The raw value is the stable `code` for programs; the sentence for people is in
/// `Messages.swift`.
public enum Refusal: String, Hashable, Sendable, CaseIterable {
    // Faults of a proof, in the order of the checks.
    case malformed
    case missingChain = "missing_x5c"
    case chainLength = "chain_length"
    case badCertificate = "bad_certificate"
    case badRoot = "bad_root"
    case chainUntrusted = "chain_untrusted"
    case chainExpired = "chain_expired"
    case missingOID = "missing_oid"
    case badSignature = "bad_signature"
    case wrongApp = "wrong_app"
    case wrongEnvironment = "wrong_environment"
    case wrongDevice = "wrong_device"
    /// The authority revoked a signer's certificate. The purchase need not be forged: Apple signs it again.
    case certificateRevoked = "certificate_revoked"
    /// The revocation status of a signer's certificate could not be determined. The proof is not refused; it waits.
    case revocationUnknown = "revocation_unknown"

    // Contradictions between a proof and the request.
    case transactionNotInReceipt = "transaction_not_in_receipt"
    case transactionMismatch = "transaction_mismatch"
    case productMismatch = "product_mismatch"
    /// Apple answered finally that it does not confirm the receipt.
    case receiptRefused = "receipt_refused"
    /// Apple does not accept this receipt; another one from the same device may succeed.
    case receiptNeedsRefresh = "receipt_needs_refresh"

    // Orders.
    case unknownProduct = "unknown_product"
    case quantityNotAllowed = "quantity_not_allowed"
    case unknownOrder = "unknown_order"
    case orderConflict = "order_conflict"
    /// An order id from a user token, without the nonce that proves a commitment to the caller.
    case orderIDUnproven = "order_id_unproven"
    /// An order id that is an account token, or an account token that is an order's id or another user's token.
    case tokenInUse = "token_in_use"
    case illegalMove = "illegal_move"
    /// The cursor was issued before the ledger was restored from a backup.
    case staleCursor = "stale_cursor"
    /// Buying now would not give the result of the preview.
    case previewChanged = "preview_changed"

    // Rights.
    case unknownEntitlement = "unknown_entitlement"

    // The wallet.
    case insufficientFunds = "insufficient_funds"
    case referenceConflict = "reference_conflict"
    case inDebt = "in_debt"
    case unknownCurrency = "unknown_currency"

    // Transfers.
    case guestTaken = "guest_taken"
    case accountMerged = "account_merged"
    case notAGuest = "not_a_guest"
    case guestMerged = "guest_merged"
    case undoExpired = "undo_expired"
    case sameUser = "same_user"
    case notTheOwner = "not_the_owner"
    case unknownTransfer = "unknown_transfer"
    case notReversible = "not_reversible"

    // Claims to what is in quarantine.
    case unknownTransaction = "unknown_transaction"
    case notInQuarantine = "not_in_quarantine"
    case notClaimable = "not_claimable"
    case unknownOrderNumber = "unknown_order_number"
    case noOrderLookup = "no_order_lookup"

    // Offers.
    case notAutoRenewable = "not_auto_renewable"
    /// With a user token: the catalogue doesn't open the offer to users, or the request asks for more than users may.
    case offerNotOpen = "offer_not_open"
    case noInAppPurchaseKey = "no_in_app_purchase_key"

    // People.
    case unknownUser = "unknown_user"
    /// An erasure would take points or a running subscription that the caller did not name.
    case erasureUnconfirmed = "erasure_unconfirmed"
    case noErasureKey = "no_erasure_key"

    // Imports.
    case unknownImport = "unknown_import"
    case importUndone = "import_undone"

    // Webhooks.
    case unknownEndpoint = "unknown_endpoint"
    case unknownEvent = "unknown_event"

    // Finance.
    case reportUnusable = "report_unusable"

    // The request itself.
    case malformedJSON = "malformed_json"
    case invalidField = "invalid_field"
    case unauthorized
    case forbidden
    case notFound = "not_found"
    case methodNotAllowed = "method_not_allowed"
    case payloadTooLarge = "payload_too_large"
    case idempotencyKeyReused = "idempotency_key_reused"
    case idempotencyInFlight = "idempotency_in_flight"
    case tooManyRequests = "too_many_requests"
    /// The user has too many open orders, or opened too many within the hour.
    case tooManyOrders = "too_many_orders"
    case unavailable
    case internalError = "internal_error"

    /// Whether the same request may be answered differently later.
    public var isRetryable: Bool {
        switch self {
        case .revocationUnknown, .idempotencyInFlight, .tooManyRequests, .tooManyOrders, .unavailable, .internalError:
            true
        default: false
        }
    }
}
