import TillAPI
import TillBilling
import TillHTTP

extension Server {
    /// Receipts of heavy buyers reach 4 MiB, and base64 adds a third (CONTRACT §2).
    static let receiptBodyLimit = 8 << 20

    /// Every address this server answers (CONTRACT §2). Making the table is cheap enough for tests, but a listener
    /// should make it once.
    public var router: Router {
        var router = Router(refuse: refuse) { _, response in
            // What is about one customer is for nobody's cache, and no browser shall guess at what it is. Who says
            // otherwise has a reason: the catalogue is the same for everybody, and is asked for again by its ETag.
            if response.headers["Cache-Control"] == nil { response.headers.add("Cache-Control", "no-store") }
            response.headers.set("X-Content-Type-Options", "nosniff")
        }
        router.on(.get, Paths.health, open(readHealth))
        router.on(.get, Paths.readiness, open(readReadiness))
        router.on(.get, Paths.products, open(listProducts))
        router.on(.post, Paths.appleNotifications, open(receiveNotification))
        router.on(
            .post, Paths.verifyReceipt, bodyLimit: Self.receiptBodyLimit,
            open(verifyReceipt, crowded: Self.verifyReceiptIsBusy))
        // Its user token is in the body.
        router.on(.post, Paths.postPay, bodyLimit: Self.receiptBodyLimit, open(postPay))

        addOrders(to: &router)
        router.on(.post, Paths.transactions, bodyLimit: Self.receiptBodyLimit, post(submitTransaction))
        router.on(.post, Paths.restores, bodyLimit: Self.receiptBodyLimit, post(restorePurchases))
        router.on(.post, Paths.guests, post(mergeGuest))
        router.on(.get, Paths.userTransfers, guarded(listTransfers))
        router.on(.post, Paths.transfers, post(makeTransfer))
        router.on(.post, Paths.transferReversal, post(reverseTransfer))
        router.on(.post, Paths.claims, post(claimPurchases))
        router.on(.get, Paths.claims, guarded(listClaims))
        router.on(.get, Paths.claimable, guarded(listClaimable))
        router.on(.get, Paths.quarantine, guarded(listQuarantined))
        router.on(.post, Paths.quarantineClaims, post(claimQuarantined))
        router.on(.get, Paths.wallet, guarded(readWallet))
        router.on(.post, Paths.debits, post(debitWallet))
        router.on(.post, Paths.bonuses, post(giveBonus))
        router.on(.post, Paths.corrections, post(correctWallet))
        router.on(.get, Paths.postings, guarded(listPostings))
        router.on(.get, Paths.lots, guarded(listLots))
        router.on(.get, Paths.consumptionConsent, guarded(readConsumptionConsent))
        router.on(.put, Paths.consumptionConsent, guarded(recordConsumptionConsent))
        router.on(.get, Paths.consumptionRequests, guarded(listConsumptionRequests))
        router.on(.get, Paths.entitlements, guarded(listEntitlements))
        router.on(.get, Paths.entitlement, guarded(readEntitlement))
        router.on(.get, Paths.subscriptions, guarded(listSubscriptions))
        // Changes nothing, so a repetition needs no key.
        router.on(.post, Paths.planPreview, guarded(previewPlan))
        router.on(.post, Paths.promotionalOffers, post(signPromotionalOffer))
        router.on(.post, Paths.introductoryOffers, post(signIntroductoryOffer))
        router.on(.get, Paths.financeReport, guarded(readFinanceReport))
        router.on(.get, Paths.fiscalCalendar, guarded(readFiscalCalendar))
        router.on(.get, Paths.priceTiers, guarded(readPriceTiers))
        router.on(.get, Paths.proceeds, guarded(readProceeds))
        // The text's own digest makes a repetition the same.
        router.on(.post, Paths.appleReports, bodyLimit: Self.appleReportLimit, guarded(importAppleReport))
        router.on(.get, Paths.appleReports, guarded(listAppleReports))
        router.on(.get, Paths.reportComparison, guarded(compareAppleReports))
        router.on(.get, Paths.events, guarded(listEvents))
        router.on(.get, Paths.webhooks, guarded(listWebhooks))
        router.on(.get, Paths.webhookDeliveries, guarded(listWebhookDeliveries))
        router.on(.post, Paths.webhookDeliveryReplay, post(replayWebhookDelivery))
        router.on(.post, Paths.webhookReplays, post(replayWebhooks))
        router.on(.get, Paths.webhookReplays, guarded(listWebhookReplays))
        router.on(.post, Paths.webhookTest, post(testWebhook))
        router.on(.post, Paths.webhookResumption, post(resumeWebhook))
        router.on(.get, Paths.openAPI, open(readOpenAPI))
        addOperations(to: &router)
        addDashboard(to: &router)
        return router
    }

    /// The answer for an address that is not served, or not by this method.
    private func refuse(_ request: HTTPRequest, _ status: Int, _ allowed: [HTTPMethod]) -> HTTPResponse {
        if status == 405, request.path.hasPrefix(Paths.verifyReceipt) { return Self.notPosted }
        var response = problem(status == 404 ? .notFound : .methodNotAllowed, for: request)
        if !allowed.isEmpty {
            let names = allowed.map(\.rawValue) + (allowed.contains(.get) ? ["HEAD"] : [])
            response.headers.add("Allow", names.joined(separator: ", "))
        }
        return response
    }

    /// Orders, and the tokens that name users in place of orders.
    private func addOrders(to router: inout Router) {
        router.on(.post, Paths.orders, post(recordsCustomer: false, createOrder))
        router.on(.get, Paths.order, guarded(readOrder))
        router.on(.post, Paths.cancelOrder, post(cancelOrder))
        router.on(.post, Paths.failOrder, post(failOrder))
        router.on(.get, Paths.userOrders, guarded(listUserOrders))
        router.on(.put, Paths.accountToken, guarded(registerAccountToken))
        router.on(.get, Paths.accountTokens, guarded(listAccountTokens))
    }

    typealias Action = @Sendable (Call) async throws -> HTTPResponse

    /// For anybody.
    /// - Parameter crowded: the response where too many long bodies of strangers come in; a problem unless told.
    private func open(_ action: @escaping Action, crowded: HTTPResponse? = nil) -> Router.Service {
        Router.Service(admission: strangers(crowded: crowded)) { request, parameters in
            await answering(request) {
                try await action(Call(request: request, parameters: parameters, credential: .nobody))
            }
        }
    }

    /// For those who show a key or a token.
    private func guarded(_ action: @escaping Action) -> Router.Service {
        Router.Service(admission: signedInOnly) { request, parameters in
            await answering(request) {
                let bearer = try authentication.bearer(of: request)
                try await record(bearer)
                var made = Call(request: request, parameters: parameters, credential: bearer.credential)
                made.kind = bearer.kind
                let call = made
                return try await apart(call) { try await action(call) }
            }
        }
    }

    /// For those who show a key or a token, and may repeat themselves under an `Idempotency-Key`.
    ///
    /// - Parameter recordsCustomer: false where the action itself does, in its own commit. Where it wrote nothing, the
    ///   customer is recorded afterwards, before the answer.
    private func post(recordsCustomer: Bool = true, _ action: @escaping Action) -> Router.Service {
        Router.Service(admission: signedInOnly) { request, parameters in
            await answering(request) {
                let bearer = try authentication.bearer(of: request)
                if recordsCustomer { try await record(bearer) }
                var made = Call(request: request, parameters: parameters, credential: bearer.credential)
                made.kind = bearer.kind
                let call = made
                let response = await answering(request) {
                    try await apart(call) {
                        try await idempotency.once(call) { call in
                            await answering(request) { try await action(call) }
                        }
                    }
                }
                try await record(bearer)
                return response
            }
        }
    }

    /// Reading a long body takes long: it is done where no other request waits for it.
    private func apart(_ call: Call, _ action: () async throws -> HTTPResponse) async throws -> HTTPResponse {
        guard call.request.isLong else { return try await action() }
        return try await heavy.run(for: call.credential, action)
    }
}

extension HTTPRequest {
    /// Whether reading the body is no longer a matter of a fraction of a millisecond.
    var isLong: Bool { body.count > ListenerConfiguration.bodyBeforeAdmission }
}
